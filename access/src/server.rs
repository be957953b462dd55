//! How a server shows who it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};

use crate::pem::{self, TlsError, unusable};
use crate::pin::Pin;

/// The files of a server's TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFiles {
    /// Its TLS certificate, and those of the authorities between it and one that clients know.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Authorities that vouch for clients, if there are any.
    pub client_authorities: Option<PathBuf>,
    /// Whether clients may speak TLS 1.2, and not only 1.3.
    pub older_tls: bool,
}

/// What was in a server's files when they were read.
#[derive(Clone, PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_authorities: Option<Vec<u8>>,
}

/// A server's files as they are now, ready to be used.
#[derive(Clone)]
pub struct Loaded {
    contents: Contents,
    config: ServerConfig,
    pin: Pin,
}

impl ServerFiles {
    /// Reads them. Nothing is used that does not go together.
    ///
    /// # Errors
    /// If that can't be done.
    pub fn load(&self) -> Result<Loaded, TlsError> {
        self.make(self.read()?)
    }

    /// Reads them again; `None` if they hold what they held.
    ///
    /// # Errors
    /// If they hold something else that can't be used.
    pub fn load_if_changed(&self, before: &Loaded) -> Result<Option<Loaded>, TlsError> {
        let contents = self.read()?;
        if contents == before.contents { Ok(None) } else { self.make(contents).map(Some) }
    }

    fn read(&self) -> Result<Contents, TlsError> {
        Ok(Contents {
            certificate: pem::read(&self.certificate)?,
            key: pem::read(&self.key)?,
            client_authorities: self.client_authorities.as_deref().map(pem::read).transpose()?,
        })
    }

    fn make(&self, contents: Contents) -> Result<Loaded, TlsError> {
        let chain = pem::chain(&self.certificate, &contents.certificate)?;
        let pin = chain.first().and_then(Pin::of);
        let pin =
            pin.ok_or_else(|| unusable(&self.certificate, "its first TLS certificate can't be read"))?;
        let key = pem::key(&self.key, &contents.key)?;
        let provider = Arc::new(ring::default_provider());
        let versions: &[_] = if self.older_tls { &[&TLS13, &TLS12] } else { &[&TLS13] };
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .map_err(|error| unusable(&self.certificate, error))?;
        let builder = match self.client_authorities.as_deref().zip(contents.client_authorities.as_deref()) {
            None => builder.with_no_client_auth(),
            Some((path, bytes)) => {
                let trusted = Arc::new(pem::authorities(path, bytes)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(trusted, provider);
                let verifier = verifier.allow_unauthenticated().build();
                builder.with_client_cert_verifier(verifier.map_err(|error| unusable(path, error))?)
            }
        };
        let config = builder.with_single_cert(chain, key).map_err(|error| unusable(&self.key, error))?;
        Ok(Loaded { contents, config, pin })
    }

    /// All of them, for the log.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let authorities = self.client_authorities.as_deref();
        [&*self.certificate, &*self.key].into_iter().chain(authorities)
    }
}

impl Loaded {
    /// What a server needs that speaks one of these protocols above TLS.
    #[must_use]
    pub fn config(&self, protocols: &[&[u8]]) -> Arc<ServerConfig> {
        let mut config = self.config.clone();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Arc::new(config)
    }

    /// What clients may know the server by.
    #[must_use]
    pub fn pin(&self) -> Pin {
        self.pin
    }
}
