//! Options for TLS, authentication and the published address of a coordinator.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use queens_auth::ServerFiles;
use queens_model::CoordinatorUrl;
use queens_platform::host_name;
use queens_store::postgres::{Contact, StoreLocation};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::access::{Authenticator, InvitationStore, PublishedAddress, QuotaLimits};
use crate::net::{Network, Tls};

/// How long to wait before publishing the address is retried.
const NOTE_AGAIN: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
#[command(next_help_heading = "Authentication")]
pub(crate) struct AuthArgs {
    /// URL of this coordinator for clients, by a name or through a proxy [default: the address it listens on]
    ///
    /// 'invite' prints it, and the web pages accept its host name.
    #[arg(long, env = "QUEENS_URL", value_name = "URL")]
    pub(crate) url: Option<CoordinatorUrl>,

    /// URL of the pages for people, through a proxy [default: with TLS, the host of --url and the port of --http]
    ///
    /// 'campaign open' prints it, and public pages link to it.
    #[arg(long, env = "QUEENS_PAGES_URL", value_name = "URL", requires = "http")]
    pub(crate) pages_url: Option<CoordinatorUrl>,

    /// Address or network of a proxy that tells its visitors' addresses, such as 127.0.0.1 or 10.0.0.0/8; repeated or
    /// separated by commas [default: none]
    ///
    /// Limits and the audit log then take the last address in Forwarded or X-Forwarded-For that is not a proxy's. Name
    /// only proxies that set one of these headers: whoever connects from there can claim any address.
    #[arg(long, env = "QUEENS_TRUSTED_PROXY", value_name = "NETWORK", value_delimiter = ',')]
    pub(crate) trusted_proxy: Vec<Network>,

    /// TLS certificate of the coordinator (PEM), with intermediate certificates; enables encryption and invitations
    ///
    /// All connections are encrypted, and every user needs an invitation. 'queens-coordinator certs' creates
    /// certificates. The files are reloaded when they change, and on SIGHUP.
    #[arg(long, env = "QUEENS_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Private key of the TLS certificate (PEM)
    #[arg(long, env = "QUEENS_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Accept TLS 1.2 in addition to TLS 1.3
    #[arg(long = "tls-1.2", env = "QUEENS_TLS_1_2", requires = "tls_cert")]
    older_tls: bool,

    /// Require invitations without TLS: for a coordinator on a loopback address behind a proxy that encrypts
    #[arg(long, env = "QUEENS_REQUIRE_TOKENS", conflicts_with = "insecure_no_auth")]
    require_tokens: bool,

    /// Allow everything to everybody, unencrypted, also on reachable addresses: for trusted networks
    #[arg(long, env = "QUEENS_INSECURE_NO_AUTH", conflicts_with = "tls_cert")]
    insecure_no_auth: bool,
}

impl AuthArgs {
    /// Loads the TLS files, if they are given.
    pub(crate) fn tls(&self) -> anyhow::Result<Option<Arc<Tls>>> {
        let Some((certificate, key)) = self.tls_cert.clone().zip(self.tls_key.clone()) else {
            return Ok(None);
        };
        let files = ServerFiles { certificate, key, older_tls: self.older_tls };
        Ok(Some(Tls::load(files).context("failed to set up TLS")?))
    }

    /// Fails if strangers could reach one of these addresses unauthenticated, unless `--insecure-no-auth` allows it.
    pub(crate) fn check(&self, listening: &[SocketAddr]) -> anyhow::Result<()> {
        let open = listening.iter().find(|address| !address.ip().to_canonical().is_loopback());
        let Some(address) = open.filter(|_| self.tls_cert.is_none()) else { return Ok(()) };
        if self.insecure_no_auth {
            warn!(%address, "no TLS and no tokens: everybody who reaches this address can do everything");
            return Ok(());
        }
        if self.require_tokens {
            bail!(
                "others can reach {address}, where tokens would be sent unencrypted: encrypt them by --tls-cert and \
                 --tls-key, or listen on 127.0.0.1 behind a proxy that does"
            );
        }
        bail!(
            "others can reach {address}, and nothing would keep strangers out. Choose one: encrypt and let in only who is \
             invited, by --tls-cert and --tls-key ('queens-coordinator certs' makes such files, 'queens-coordinator \
             invite' invites); or listen on 127.0.0.1 alone, behind a proxy or an SSH tunnel; or, on a network that you \
             trust, let everybody do everything by --insecure-no-auth"
        )
    }

    /// Returns the published address of a coordinator that listens here. The addresses of a proxy are known from
    /// `--url` and `--pages-url` only.
    pub(crate) fn place(
        &self,
        listening: SocketAddr,
        pages: Option<SocketAddr>,
        tls: Option<&Tls>,
    ) -> PublishedAddress {
        let told = self.url.as_ref().map(|url| url.as_str().to_owned());
        let url = told.or_else(|| tls.map(|_| format!("https://{}", reached_at(listening))));
        let pages = pages.filter(|_| tls.is_some() || self.pages_url.is_some());
        let pages = pages.map(|address| self.pages_at("https", address));
        PublishedAddress { url, pin: tls.map(|tls| tls.pin().to_string()), pages }
    }

    /// Returns the addresses to which other coordinators redirect workers and operators, and visitors of the pages.
    pub(crate) fn contact(
        &self,
        listening: SocketAddr,
        pages: Option<SocketAddr>,
        tls: Option<&Tls>,
    ) -> Contact {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let told = self.place(listening, pages, tls).url;
        let url = told.unwrap_or_else(|| format!("{scheme}://{}", reached_at(listening)));
        Contact { url, pages: pages.map(|address| self.pages_at(scheme, address)) }
    }

    fn pages_at(&self, scheme: &str, address: SocketAddr) -> String {
        match (&self.pages_url, &self.url) {
            (Some(pages), _) => pages.as_str().trim_end_matches('/').to_owned(),
            (None, Some(url)) => format!("{scheme}://{}:{}", url.host(), address.port()),
            (None, None) => format!("{scheme}://{}", reached_at(address)),
        }
    }

    /// Publishes this coordinator's address for invited users in the background, even if it never leads. Retries until
    /// the store can be written.
    pub(crate) fn note_place(
        &self,
        store: StoreLocation,
        place: PublishedAddress,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        if self.tls_cert.is_none() && !self.require_tokens {
            return Ok(());
        }
        let noting = thread::Builder::new().name("place".to_owned()).spawn(move || {
            while let Err(error) =
                InvitationStore::open(&store).and_then(|mut store| store.note_place(&place))
            {
                if stop.is_cancelled() {
                    return;
                }
                debug!(%error, "where this coordinator is reached is not noted yet");
                thread::sleep(NOTE_AGAIN);
            }
        });
        noting.context("failed to start a thread").map(drop)
    }

    /// Creates the authenticator, which publishes `place` to invited users.
    pub(crate) fn authenticator(
        &self,
        store: &StoreLocation,
        place: PublishedAddress,
        quota: QuotaLimits,
        stop: CancellationToken,
    ) -> anyhow::Result<Authenticator> {
        if self.tls_cert.is_none() && !self.require_tokens {
            return Ok(Authenticator::open_to_all(Some(store)));
        }
        let knows_visitors = self.tls_cert.is_some() || !self.trusted_proxy.is_empty();
        Authenticator::invitation_only(store, place, quota, knows_visitors, stop)
            .context("failed to read the invitations")
    }
}

/// Returns the address at which others reach a listener: its own, or this machine's name if it listens on all
/// addresses.
fn reached_at(address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let name = host_name().unwrap_or_else(|| "localhost".to_owned());
    format!("{name}:{}", address.port())
}
