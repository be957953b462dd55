//! The listening sockets of a coordinator: bound once, and served in turn by the standby server and the leader. Also
//! the options that limit connections and requests.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use queens_ledger::Reporting;
use queens_model::{CoordinatorUrl, InvalidReportInterval, ListenAddress, ReportInterval};
use queens_platform::allow_many_files;
use queens_store::postgres::Contact;
use tokio::net::TcpListener;
use tracing::{info, warn};

use super::auth_setup::AuthArgs;
use super::invite::duration;
use crate::access::{PublishedAddress, QuotaLimits};
use crate::http::{Hosts, Site};
use crate::net::{AppProtocol, ConnectionLimits, Limits, Network, Port, Tls};

/// Assumed limit of open files if it can't be determined.
const USUAL_FILES: u64 = 1024;

/// The listening sockets. Clients wait in the accept queue until a server runs.
#[derive(Debug)]
pub(crate) struct Ports {
    workers: StdListener,
    pages: Option<(StdListener, Hosts)>,
    pub(crate) tls: Option<Arc<Tls>>,
    proxies: Arc<[Network]>,
    limits: (Limits, Limits),
}

impl Ports {
    /// Binds the sockets, if the options keep strangers out.
    pub(crate) async fn bind(
        listen: &ListenAddress,
        pages: Option<&ListenAddress>,
        auth: &AuthArgs,
        limits: &LimitArgs,
    ) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(listen.as_str()).await;
        let workers = listener.with_context(|| format!("failed to listen on {listen}"))?.into_std()?;
        let pages = match pages {
            Some(address) => {
                let listener = TcpListener::bind(address.as_str()).await;
                let asked = || format!("failed to listen on {address}, which --http asks for");
                // Requests may also name the other URLs that lead here.
                let [url, pages_url] =
                    [&auth.url, &auth.pages_url].map(|url| url.as_ref().map(CoordinatorUrl::host));
                let hosts = Hosts::named([Some(address.host()), url, pages_url]);
                Some((listener.with_context(asked)?.into_std()?, hosts))
            }
            None => None,
        };
        let (tls, proxies) = (auth.tls()?, Arc::<[Network]>::from(auth.trusted_proxy.as_slice()));
        let pages_address = pages.as_ref().map(|(listener, _)| listener.local_addr()).transpose()?;
        auth.check(&[&[workers.local_addr()?], pages_address.as_slice()].concat())?;
        if let Some(address) = pages_address {
            let scheme = if tls.is_some() { "https" } else { "http" };
            info!(url = format!("{scheme}://{address}/"), "dashboard");
        }
        // Each connection takes a file descriptor.
        let n_files = allow_many_files().unwrap_or_else(|error| {
            warn!(%error, "the limit of open files stays as it is");
            USUAL_FILES
        });
        let most = limits.connections();
        if let Some(allowed) = most.too_many(n_files) {
            warn!(
                allowed,
                "fewer connections than --max-connections says: the limit of open files allows no more"
            );
        }
        let limits = Limits::share(n_files, pages.is_some(), most);
        Ok(Self { workers, pages, tls, proxies, limits })
    }

    /// Returns the address for workers and operators.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.workers.local_addr()
    }

    /// Returns the addresses to which other coordinators redirect clients of this one.
    pub(crate) fn contact(&self, auth: &AuthArgs) -> io::Result<Contact> {
        Ok(auth.contact(self.local_addr()?, self.pages_addr()?, self.tls.as_deref()))
    }

    /// Returns the address that invited users are told.
    pub(crate) fn place(&self, auth: &AuthArgs) -> io::Result<PublishedAddress> {
        Ok(auth.place(self.local_addr()?, self.pages_addr()?, self.tls.as_deref()))
    }

    fn pages_addr(&self) -> io::Result<Option<SocketAddr>> {
        self.pages.as_ref().map(|(listener, _)| listener.local_addr()).transpose()
    }

    /// Returns the port for workers and operators, for a server in this runtime.
    pub(crate) fn for_workers(&self) -> io::Result<Port> {
        self.port(AppProtocol::Grpc, &self.workers, self.limits.0)
    }

    /// Returns the web site for a server in this runtime, if it is enabled.
    pub(crate) fn for_pages(&self) -> io::Result<Option<Site>> {
        let Some((listener, hosts)) = &self.pages else { return Ok(None) };
        let (limits, hosts) = (self.limits.1, hosts.clone());
        let port = self.port(AppProtocol::Pages, listener, limits)?;
        Ok(Some(Site { port, hosts, n_connections: limits.n_connections }))
    }

    fn port(&self, app_protocol: AppProtocol, listener: &StdListener, limits: Limits) -> io::Result<Port> {
        let listener = TcpListener::from_std(listener.try_clone()?)?;
        Ok(Port::new(app_protocol, listener, limits, self.tls.clone(), self.proxies.clone()))
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Maximal concurrent connections, including those to the pages [default: by the limit of open files]
    #[arg(long, env = "QUEENS_MAX_CONNECTIONS", value_name = "NUMBER")]
    max_connections: Option<NonZeroUsize>,

    /// Maximal concurrent connections of one address, for each port; trusted proxies have no such limit [default: half
    /// of the port's]
    #[arg(long, env = "QUEENS_MAX_CONNECTIONS_OF_ADDRESS", value_name = "NUMBER")]
    max_connections_of_address: Option<NonZeroUsize>,

    /// Maximal concurrent requests of one invitation, without workers' sessions
    #[arg(long, env = "QUEENS_MAX_REQUESTS", value_name = "NUMBER", default_value_t = QuotaLimits::default().n_requests)]
    max_requests: NonZeroUsize,

    /// Maximal jobs that one invitation may submit per minute
    #[arg(long, env = "QUEENS_MAX_SUBMISSIONS", value_name = "NUMBER", default_value_t = QuotaLimits::default().n_submissions)]
    max_submissions: NonZeroU32,

    /// Longest interval between reports of a worker, which is the work that its crash may lose; few workers report
    /// every second
    #[arg(long, env = "QUEENS_MAX_REPORT_INTERVAL", value_name = "TIME", default_value = "30s", value_parser = report_interval)]
    max_report_interval: ReportInterval,
}

impl LimitArgs {
    pub(crate) fn connections(&self) -> ConnectionLimits {
        ConnectionLimits { connections: self.max_connections, of_address: self.max_connections_of_address }
    }

    pub(crate) fn quota(&self) -> QuotaLimits {
        QuotaLimits { n_requests: self.max_requests, n_submissions: self.max_submissions }
    }

    pub(crate) fn reporting(&self) -> Reporting {
        Reporting { longest: self.max_report_interval, ..Reporting::default() }
    }
}

fn report_interval(text: &str) -> Result<ReportInterval, String> {
    duration(text)?.try_into().map_err(|error: InvalidReportInterval| error.to_string())
}
