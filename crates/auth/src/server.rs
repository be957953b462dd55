//! TLS configuration of a server, and its reloading from files.

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

/// The TLS files of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFiles {
    /// The TLS certificate, with the intermediate CA certificates.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
    /// Whether clients may use TLS 1.2 besides 1.3.
    pub older_tls: bool,
}

/// The contents of a server's TLS files.
#[derive(Clone, PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// A server's TLS files, parsed.
#[derive(Clone)]
pub struct Loaded {
    contents: Contents,
    /// For gRPC. It requests an optional TLS certificate from clients, whose key identifies them. They prove in the
    /// handshake that they own it.
    pub grpc: Arc<ServerConfig>,
    /// For pages. It requests no certificate: browsers would ask people to choose one.
    pub pages: Arc<ServerConfig>,
    /// The pin by which clients may verify the server.
    pub pin: Pin,
}

impl ServerFiles {
    /// Reads the files and checks that they go together.
    ///
    /// # Errors
    /// If a file can't be used, or they do not go together.
    pub fn load(&self) -> Result<Loaded, TlsError> {
        self.make(self.read()?)
    }

    /// Reads the files again; `None` if they are unchanged.
    ///
    /// # Errors
    /// If they are changed and can't be used.
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
        let grpc = builder.clone().with_client_cert_verifier(any_key);
        let grpc = grpc.with_single_cert(chain.clone(), key.clone_key());
        let mut grpc = grpc.map_err(|error| unusable(&self.key, error))?;
        grpc.alpn_protocols = vec![b"h2".to_vec()];
        let pages = builder.with_no_client_auth().with_single_cert(chain, key);
        let mut pages = pages.map_err(|error| unusable(&self.key, error))?;
        pages.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Loaded { contents, grpc: Arc::new(grpc), pages: Arc::new(pages), pin })
    }
}

/// Accepts any certificate whose key the client proves to own in the handshake. The caller authorises the key.
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
