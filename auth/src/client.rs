//! Whom a client takes for the server.

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

/// Twice as many as anybody has coordinators: those that are replaced have a key before and another after.
const MOST_PINS: usize = 32;

/// There are more pins than anybody needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0} pins are too many: give at most {MOST_PINS}")]
pub struct TooManyPins(usize);

/// Whom a client takes for the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Whoever an authority vouches for that browsers believe (Mozilla's list).
    #[default]
    Public,
    /// Whoever one of the authorities in this file vouches for.
    Authorities(PathBuf),
    /// Whoever has the key of one of these pins, and nobody else, however it calls itself.
    Pinned(Vec<Pin>),
}

impl Trust {
    /// Whoever has one of these keys.
    ///
    /// # Errors
    /// If there are more than anybody has coordinators.
    pub fn pinned(pins: &[Pin]) -> Result<Self, TooManyPins> {
        if pins.len() > MOST_PINS { Err(TooManyPins(pins.len())) } else { Ok(Self::Pinned(pins.to_vec())) }
    }

    /// What a client needs that speaks one of these protocols above TLS 1.3, and shows a TLS certificate of its own from
    /// a file if it has one, with its key from another.
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

/// Believes whoever has one of some keys, and proves in the handshake that it has it.
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
