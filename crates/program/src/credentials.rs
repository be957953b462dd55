//! Command-line options for authentication: the client's credentials, and its trust in the coordinator.

use std::path::PathBuf;

use clap::Args;
use queens_auth::{Credentials, CredentialsError, Pin, TooManyPins, Trust};

/// The heading of all options for the connection to a coordinator, in the help.
pub const CONNECTION: &str = "Connection";

/// Options that verify the coordinator.
#[derive(Clone, Debug, Args)]
pub struct TrustArgs {
    /// CA certificates (PEM) to verify the coordinator with [default: Mozilla's root certificates]
    #[arg(long, help_heading = CONNECTION, env = "QUEENS_CA", value_name = "FILE", conflicts_with = "pin")]
    ca: Option<PathBuf>,

    /// Public key of the coordinator, as 'queens-coordinator invite' prints it; for several coordinators, the keys of
    /// all, repeated or separated by commas [default: verified by --ca]
    #[arg(long, help_heading = CONNECTION, env = "QUEENS_PIN", value_name = "sha256:…", value_delimiter = ',')]
    pin: Vec<Pin>,
}

impl TrustArgs {
    /// Returns how to verify the coordinator.
    ///
    /// # Errors
    /// If there are too many pins.
    pub fn trust(&self) -> Result<Trust, TooManyPins> {
        Trust::of(self.ca.as_deref(), &self.pin)
    }
}

/// Options that verify the coordinator and authenticate the client.
#[derive(Clone, Debug, Args)]
pub struct CredentialsArgs {
    #[command(flatten)]
    trust: TrustArgs,

    /// File with the token of your invitation [default: the environment variable QUEENS_TOKEN]
    #[arg(long, help_heading = CONNECTION, env = "QUEENS_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Your own TLS certificate (PEM), if its key was invited instead of a token [default: none]
    #[arg(long, help_heading = CONNECTION, env = "QUEENS_CLIENT_CERT", value_name = "FILE", requires = "client_key")]
    client_cert: Option<PathBuf>,

    /// Private key of --client-cert [default: none]
    #[arg(long, help_heading = CONNECTION, env = "QUEENS_CLIENT_KEY", value_name = "FILE", requires = "client_cert")]
    client_key: Option<PathBuf>,
}

impl CredentialsArgs {
    /// Reads the credentials that these options name.
    ///
    /// # Errors
    /// If a token is malformed or missing, or a file can't be used.
    pub fn credentials(&self) -> Result<Credentials, CredentialsError> {
        let trust = self.trust.trust()?;
        let token = Credentials::take_token(self.token_file.as_deref())?;
        let certificate = self.client_cert.clone().zip(self.client_key.clone());
        Ok(Credentials { trust, token, certificate })
    }
}
