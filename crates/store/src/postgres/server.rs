//! The address, the TLS settings and the credentials of a PostgreSQL server.

use std::fmt::{self, Debug, Formatter};
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use queens_platform::open_regular_file;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// Timeout of connecting, and of TCP acknowledgements.
const PATIENCE: Duration = Duration::from_secs(5);

/// Interval and number of TCP keep-alive probes after that time without data.
const PROBED: Duration = Duration::from_secs(1);
const PROBES: u32 = 3;

/// The size of a password file must be below this many bytes.
const LONGEST_PASSWORD: u64 = 4096;

/// A database on a server: its address, and its credentials.
#[derive(Clone)]
pub struct Server {
    /// The configuration as given.
    config: Box<Config>,
    /// The configuration of each host.
    pub(super) hosts: Arc<[Config]>,
    /// The index of the host used last.
    last: Arc<AtomicUsize>,
    pub(super) tls: Arc<ClientConfig>,
}

/// Why an address can't be used.
#[derive(Debug, Error)]
pub enum ServerError {
    /// It is no PostgreSQL URL.
    #[error("'{0}' is not postgres://USER@HOST:PORT/DATABASE")]
    NoAddress(String),
    /// It is a URL with an invalid part.
    #[error("{0}")]
    Wrong(String),
    /// The connection would be unencrypted, which was not allowed explicitly.
    #[error(
        "the database on {0} would be reached without TLS, which anybody on the way can read and change: write \
         sslmode=require, or sslmode=disable if the network is yours alone"
    )]
    Open(String),
    /// A file can't be read.
    #[error("'{}': {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl Server {
    /// Parses an address such as `postgres://USER@HOST:PORT/DATABASE?sslmode=require`. Of several hosts, separated by
    /// commas, the writable one is used. `password` is a file whose only line is the password. `authority` is a file
    /// with CA certificates (PEM) that replace the public ones.
    ///
    /// # Errors
    /// If the address is invalid, requires TLS without asking for it, or a file can't be read.
    pub fn new(
        address: &str,
        password: Option<&Path>,
        authority: Option<&Path>,
    ) -> Result<Self, ServerError> {
        let is_address = ["postgres://", "postgresql://"].iter().any(|scheme| address.starts_with(scheme));
        if !is_address {
            // The text before the last @ may contain a password.
            let told = address.rfind('@').map_or(address.to_owned(), |at| format!("…{}", &address[at..]));
            return Err(ServerError::NoAddress(told.escape_debug().to_string()));
        }
        let mut config = Config::from_str(address).map_err(|error| {
            // The address may contain a password and must not be printed.
            let reason = std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string);
            let hint = if address.contains("sslmode=verify") {
                "; sslmode=require looks at the server's certificate, name included"
            } else {
                ""
            };
            ServerError::Wrong(format!("the address of the database is wrong: {reason}{hint}"))
        })?;
        if config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(host) if host.contains('@'))) {
            let wrong =
                "the address of the database has more than one @: in a user's name or password write %40";
            return Err(ServerError::Wrong(wrong.to_owned()));
        }
        if config.get_hosts().is_empty() {
            return Err(ServerError::Wrong("the address of the database names no host".to_owned()));
        }
        if config.get_dbname().is_none() {
            return Err(ServerError::Wrong("the address of the database names no database".to_owned()));
        }
        if let Some(path) = password {
            let wrong = |reason: String| ServerError::File { path: path.to_owned(), reason };
            let mut text = String::new();
            let read = open_regular_file(path)
                .and_then(|file| file.take(LONGEST_PASSWORD).read_to_string(&mut text));
            read.map_err(|error| wrong(error.to_string()))?;
            let mut lines = text.lines();
            match (lines.next(), lines.next()) {
                (Some(line), None) if !line.is_empty() && (text.len() as u64) < LONGEST_PASSWORD => {
                    config.password(line)
                }
                _ => return Err(wrong("it should have one line, the password".to_owned())),
            };
        }
        let is_near = config.get_hosts().iter().all(is_on_this_machine);
        let asks_for_tls = config.get_ssl_mode() == SslMode::Require || authority.is_some();
        if asks_for_tls {
            config.ssl_mode(SslMode::Require);
        } else if !is_near && config.get_ssl_mode() != SslMode::Disable {
            return Err(ServerError::Open(hosts(&config)));
        } else {
            config.ssl_mode(SslMode::Disable);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        let hosts = (0..config.get_hosts().len()).map(|place| alone(&config, place)).collect();
        let (config, tls) = (Box::new(config), Arc::new(tls(authority)?));
        Ok(Self { config, hosts, last: Arc::default(), tls })
    }

    /// Returns the name for messages: the location without secrets.
    #[must_use]
    pub fn name(&self) -> String {
        format!(
            "database '{}' on {}",
            self.config.get_dbname().unwrap_or_default().escape_debug(),
            hosts(&self.config)
        )
    }

    /// Returns the indices of all hosts, the one used last first.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = usize> + use<> {
        let last = self.last.load(Ordering::Relaxed);
        std::iter::once(last).chain((0..self.hosts.len()).filter(move |place| *place != last))
    }

    /// Notes which host is used.
    pub(super) fn remember(&self, place: usize) {
        self.last.store(place, Ordering::Relaxed);
    }

    /// Returns the name of a host for messages.
    pub(super) fn host(&self, place: usize) -> String {
        hosts(&self.hosts[place])
    }
}

impl Debug for Server {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name())
    }
}

fn hosts(config: &Config) -> String {
    let ports = config.get_ports();
    let port = |place: usize| ports.get(place).or(ports.first()).copied().unwrap_or(5432);
    let name = |(place, host): (usize, &Host)| match host {
        Host::Tcp(host) if host.contains(':') => format!("[{host}]:{}", port(place)),
        Host::Tcp(host) => format!("{host}:{}", port(place)),
        #[cfg(unix)]
        Host::Unix(path) => format!("{}", path.display()),
    };
    config.get_hosts().iter().enumerate().map(name).collect::<Vec<_>>().join(", ")
}

/// Returns the configuration with only one of its hosts.
fn alone(config: &Config, place: usize) -> Config {
    let mut alone = Config::new();
    match config.get_hosts().get(place) {
        Some(Host::Tcp(host)) => _ = alone.host(host),
        #[cfg(unix)]
        Some(Host::Unix(path)) => _ = alone.host_path(path),
        None => {}
    }
    if let Some(address) = config.get_hostaddrs().get(place) {
        alone.hostaddr(*address);
    }
    let ports = config.get_ports();
    if let Some(port) = ports.get(place).or(ports.first()) {
        alone.port(*port);
    }
    if let Some(user) = config.get_user() {
        alone.user(user);
    }
    if let Some(password) = config.get_password() {
        alone.password(password);
    }
    if let Some(database) = config.get_dbname() {
        alone.dbname(database);
    }
    if let Some(options) = config.get_options() {
        alone.options(options);
    }
    if let Some(timeout) = config.get_connect_timeout() {
        alone.connect_timeout(*timeout);
    }
    alone.application_name("queens-coordinator").tcp_user_timeout(PATIENCE);
    alone.keepalives_idle(PATIENCE).keepalives_interval(PROBED).keepalives_retries(PROBES);
    alone.ssl_mode(config.get_ssl_mode()).ssl_negotiation(config.get_ssl_negotiation());
    alone.channel_binding(config.get_channel_binding());
    // Of several servers, selects the one that accepts writes.
    alone.target_session_attrs(TargetSessionAttrs::ReadWrite);
    alone
}

fn is_on_this_machine(host: &Host) -> bool {
    match host {
        #[cfg(unix)]
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

/// Returns the TLS configuration. Certificates are always verified, whatever `sslmode` says.
fn tls(authority: Option<&Path>) -> Result<ClientConfig, ServerError> {
    let mut roots = RootCertStore::empty();
    match authority {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let wrong = |reason: String| ServerError::File { path: path.to_owned(), reason };
            let all = CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
            for one in all {
                let one = one.map_err(|error| wrong(error.to_string()))?;
                roots.add(one).map_err(|error| wrong(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(wrong("there is no certificate in it".to_owned()));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| ServerError::Wrong(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_elsewhere_is_reached_by_tls_unless_somebody_says_otherwise() {
        let server = |address: &str| Server::new(address, None, None);
        let mode = |address: &str| server(address).expect("an address").config.get_ssl_mode();
        assert_eq!(mode("postgres://q@127.0.0.1/q"), SslMode::Disable);
        assert_eq!(mode("postgres://q@127.0.0.1/q?sslmode=require"), SslMode::Require);
        assert_eq!(mode("postgres://q@db.example/q?sslmode=require"), SslMode::Require);
        assert_eq!(mode("postgres://q@db.example/q?sslmode=disable"), SslMode::Disable);
        for open in ["postgres://q@db.example/q", "postgres://q@127.0.0.1,db.example/q?sslmode=prefer"] {
            assert!(matches!(server(open), Err(ServerError::Open(_))), "{open}");
        }
    }

    #[test]
    fn addresses_that_are_no_good_are_refused_without_their_passwords() {
        for (address, expected) in [
            ("mysql://h/q", "'mysql://h/q' is not postgres://USER@HOST:PORT/DATABASE"),
            ("mysql://q:secret@h/q", "'…@h/q' is not postgres://USER@HOST:PORT/DATABASE"),
            ("postgres://q:a@secret@h/q", "the address of the database has more than one @"),
            ("postgres://q:secret@/q", "the address of the database names no host"),
            ("postgres://q:secret@127.0.0.1", "the address of the database names no database"),
            ("postgres://q:secret@127.0.0.1/q?pool=1", "the address of the database is wrong: "),
        ] {
            let error = Server::new(address, None, None).expect_err("no good").to_string();
            assert!(error.starts_with(expected) && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn names_hold_no_password() {
        let server = Server::new("postgres://q:secret@127.0.0.1:55432,[::1]/q", None, None);
        let name = server.expect("an address").name();
        assert_eq!(name, "database 'q' on 127.0.0.1:55432, [::1]:5432");
    }

    #[test]
    fn the_server_that_was_used_last_is_tried_first() {
        let server = Server::new("postgres://q@127.0.0.1:1,127.0.0.2:2,[::1]/q", None, None);
        let server = server.expect("an address");
        let hosts = || server.in_turn().map(|place| server.host(place)).collect::<Vec<_>>();
        assert_eq!(hosts(), ["127.0.0.1:1", "127.0.0.2:2", "[::1]:5432"]);
        server.clone().remember(1);
        assert_eq!(hosts(), ["127.0.0.2:2", "127.0.0.1:1", "[::1]:5432"]);
    }
}
