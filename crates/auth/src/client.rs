//! TLS configuration of a client, and how it verifies the server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use thiserror::Error;

use crate::pem::{self, TlsError, unusable};
use crate::pin::Pin;

/// The maximum number of pins: twice the coordinators of any cluster, because a replaced one has an old key and a new
/// one.
const MOST_PINS: usize = 32;

/// More pins than any cluster needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0} pins are too many: give at most {MOST_PINS}")]
pub struct TooManyPins(usize);

/// How a client verifies the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// By Mozilla's root certificates, as browsers do.
    #[default]
    Public,
    /// By the CA certificates in this file.
    Authorities(PathBuf),
    /// By its public key, which must match one of these pins. Nothing else in its certificate counts.
    Pinned(Vec<Pin>),
}

impl Trust {
    /// Trusts servers that have one of these keys; without keys, those that an authority in the file vouches for.
    ///
    /// # Errors
    /// If there are more keys than any cluster needs.
    pub fn of(authorities: Option<&Path>, pins: &[Pin]) -> Result<Self, TooManyPins> {
        match (authorities, pins) {
            (Some(path), []) => Ok(Self::Authorities(path.to_owned())),
            (None, []) => Ok(Self::Public),
            (_, pins) => Self::pinned(pins),
        }
    }

    /// Trusts servers that have one of these keys.
    ///
    /// # Errors
    /// If there are more keys than any cluster needs.
    pub fn pinned(pins: &[Pin]) -> Result<Self, TooManyPins> {
        if pins.len() > MOST_PINS { Err(TooManyPins(pins.len())) } else { Ok(Self::Pinned(pins.to_vec())) }
    }

    /// Returns the configuration of a client that speaks one of these protocols over TLS 1.3. Its own TLS certificate
    /// and the private key come from two files, if it has them.
    ///
    /// # Errors
    /// If a file can't be used.
    pub fn config(
        &self,
        protocols: &[&[u8]],
        own: Option<(&Path, &Path)>,
    ) -> Result<Arc<ClientConfig>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let nowhere = Path::new("TLS 1.3");
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unusable(nowhere, error))?;
        let builder = match self {
            Self::Public => builder
                .with_root_certificates(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }),
            Self::Authorities(path) => {
                builder.with_root_certificates(pem::authorities(path, &pem::read(path)?)?)
            }
            Self::Pinned(pins) => {
                let verifier = Pinned { pins: pins.clone(), provider };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
        };
        let mut config = match own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = pem::chain(certificate, &pem::read(certificate)?)?;
                let key_der = pem::key(key, &pem::read(key)?)?;
                builder.with_client_auth_cert(chain, key_der).map_err(|error| unusable(key, error))?
            }
        };
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Arc::new(config))
    }
}

/// Accepts a server that proves in the handshake that it owns one of these keys.
#[derive(Debug)]
struct Pinned {
    pins: Vec<Pin>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match Pin::of(end_entity) {
            Some(pin) if self.pins.contains(&pin) => Ok(ServerCertVerified::assertion()),
            Some(_) => Err(rustls::Error::General("the server has a key that is not pinned".to_owned())),
            None => Err(CertificateError::BadEncoding.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
