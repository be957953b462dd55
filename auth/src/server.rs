//! How a server shows who it is.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
};

use crate::pem::{self, TlsError, unusable};
use crate::pin::Pin;

/// The files of a server's TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFiles {
    /// Its TLS certificate, and those of the authorities between it and one that clients know.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Whether clients may speak TLS 1.2, and not only 1.3.
    pub older_tls: bool,
}

/// What was in a server's files when they were read.
#[derive(Clone, PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// A server's files as they are now, ready to be used.
#[derive(Clone)]
pub struct Loaded {
    contents: Contents,
    /// For ports that ask clients for a TLS certificate of their own.
    asking: ServerConfig,
    /// For those that don't.
    silent: ServerConfig,
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
        Ok(Contents { certificate: pem::read(&self.certificate)?, key: pem::read(&self.key)? })
    }

    fn make(&self, contents: Contents) -> Result<Loaded, TlsError> {
        let chain = pem::chain(&self.certificate, &contents.certificate)?;
        let pin = chain.first().and_then(Pin::of);
        let pin =
            pin.ok_or_else(|| unusable(&self.certificate, "its first TLS certificate can't be read"))?;
        let key = pem::key(&self.key, &contents.key)?;
        let provider = Arc::new(ring::default_provider());
        let any_key = Arc::new(AnyKey { algorithms: provider.signature_verification_algorithms });
        let versions: &[_] = if self.older_tls { &[&TLS13, &TLS12] } else { &[&TLS13] };
        let builder = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(|error| unusable(&self.certificate, error))?;
        let asking = builder.clone().with_client_cert_verifier(any_key);
        let asking = asking.with_single_cert(chain.clone(), key.clone_key());
        let asking = asking.map_err(|error| unusable(&self.key, error))?;
        let silent = builder.with_no_client_auth().with_single_cert(chain, key);
        let silent = silent.map_err(|error| unusable(&self.key, error))?;
        Ok(Loaded { contents, asking, silent, pin })
    }
}

impl Loaded {
    /// What a server needs that speaks one of these protocols above TLS. If `asks` is so, it asks clients for a TLS
    /// certificate of their own; they need not have one, and are known by the key in it, which they prove to have.
    #[must_use]
    pub fn config(&self, protocols: &[&[u8]], asks: bool) -> Arc<ServerConfig> {
        let mut config = if asks { &self.asking } else { &self.silent }.clone();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Arc::new(config)
    }

    /// What clients may know the server by.
    #[must_use]
    pub fn pin(&self) -> Pin {
        self.pin
    }
}

/// Takes the certificate of whoever proves in the handshake that its key is theirs. What that key is good for, others
/// decide.
#[derive(Debug)]
struct AnyKey {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for AnyKey {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match Pin::of(end_entity) {
            Some(_) => Ok(ClientCertVerified::assertion()),
            None => Err(CertificateError::BadEncoding.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
