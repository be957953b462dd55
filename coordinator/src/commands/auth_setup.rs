//! Who is let in by a coordinator that is started.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use queens_auth::ServerFiles;
use queens_coordinator::auth::{Authenticator, InvitationStore, PublishedAddress, QuotaLimits};
use queens_coordinator::store::StoreLocation;
use queens_coordinator::store::postgres::Contact;
use queens_coordinator::tls::Tls;
use queens_model::CoordinatorUrl;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// How long to wait before noting again what could not be noted.
const NOTE_AGAIN: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct DoorArgs {
    /// Where others reach this coordinator, by a name or through a proxy: what 'invite' prints, and a host that its
    /// pages may be asked for by [default: where it listens]
    #[arg(long, env = "QUEENS_URL", value_name = "URL")]
    pub(crate) url: Option<CoordinatorUrl>,

    /// The coordinator's TLS certificate (PEM), with those of authorities between it and one that workers know; all
    /// connections are encrypted then, and only who was invited gets in
    ///
    /// 'queens-coordinator certs' makes such files. They are read again when they change, and at SIGHUP.
    #[arg(long, env = "QUEENS_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The private key of the TLS certificate (PEM)
    #[arg(long, env = "QUEENS_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Let TLS 1.2 be spoken as well, and not only 1.3
    #[arg(long = "tls-1.2", env = "QUEENS_TLS_1_2", requires = "tls_cert")]
    older_tls: bool,

    /// Let in only who was invited, though there is no TLS here: for a coordinator on this machine's own address behind
    /// a proxy that encrypts
    #[arg(long, env = "QUEENS_REQUIRE_TOKENS", conflicts_with = "insecure_no_auth")]
    require_tokens: bool,

    /// Let everybody do everything, unencrypted, also on an address that others reach: for networks that you trust
    #[arg(long, env = "QUEENS_INSECURE_NO_AUTH", conflicts_with = "tls_cert")]
    insecure_no_auth: bool,
}

impl DoorArgs {
    /// What the ports encrypt with, if they do.
    pub(crate) fn tls(&self) -> anyhow::Result<Option<Arc<Tls>>> {
        let Some((certificate, key)) = self.tls_cert.clone().zip(self.tls_key.clone()) else {
            return Ok(None);
        };
        let files = ServerFiles { certificate, key, older_tls: self.older_tls };
        Ok(Some(Tls::load(files).context("failed to set up TLS")?))
    }

    /// Fails if strangers could reach one of these addresses and nothing would keep them out, which nobody has said is
    /// wanted.
    pub(crate) fn check(&self, listening: &[SocketAddr]) -> anyhow::Result<()> {
        let open = listening.iter().find(|address| !address.ip().to_canonical().is_loopback());
        let Some(address) = open.filter(|_| self.tls_cert.is_none()) else { return Ok(()) };
        if self.insecure_no_auth {
            warn!(%address, "no TLS and no tokens: whoever reaches this address can do everything");
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

    /// Where it is reached that listens at this address, for those who are invited. Of a proxy, only `--url` tells.
    pub(crate) fn place(&self, listening: SocketAddr, tls: Option<&Tls>) -> PublishedAddress {
        let told = self.url.as_ref().map(|url| url.as_str().to_owned());
        let url = told.or_else(|| tls.map(|_| format!("https://{}", reached_at(listening))));
        PublishedAddress { url, pin: tls.map(|tls| tls.pin().to_string()) }
    }

    /// Where other coordinators send workers and operators for the one that listens at this address, and people for its
    /// pages at the other.
    pub(crate) fn contact(
        &self,
        listening: SocketAddr,
        pages: Option<SocketAddr>,
        tls: Option<&Tls>,
    ) -> Contact {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let told = self.place(listening, tls).url;
        let url = told.unwrap_or_else(|| format!("{scheme}://{}", reached_at(listening)));
        let pages = pages.map(|address| match &self.url {
            Some(url) => format!("{scheme}://{}:{}", url.host(), address.port()),
            None => format!("{scheme}://{}", reached_at(address)),
        });
        Contact { url, pages }
    }

    /// Notes that a coordinator is reached at `place`, also if it never leads, for those who are invited; as soon as that
    /// can be written, and nobody waits for it.
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

    /// Who is let in. Those who are invited are told that the coordinator is reached at `place`.
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
        Authenticator::invitation_only(store, place, quota, stop).context("failed to read who is invited")
    }
}

/// How others may reach a listener: by its address, or by this machine's name if it listens on all addresses.
fn reached_at(address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or("localhost");
    format!("{name}:{}", address.port())
}
