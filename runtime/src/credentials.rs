//! What programs show to a coordinator, and whom they take for it.

use std::path::PathBuf;

use clap::Args;
use queens_auth::{Credentials, CredentialsError, Pin, Trust};

/// Whom to take for the coordinator, and what to show to be let in.
#[derive(Clone, Debug, Args)]
pub struct CredentialsArgs {
    /// File with authorities (PEM) one of which vouches for the coordinator [default: those that browsers believe]
    #[arg(long, env = "QUEENS_CA", value_name = "FILE", conflicts_with = "pin")]
    ca: Option<PathBuf>,

    /// The coordinator is whoever has this key, as 'queens-coordinator invite' prints it; of several coordinators, the
    /// keys of all, given several times or with commas between them [default: whoever --ca says]
    #[arg(long, env = "QUEENS_PIN", value_name = "sha256:…", value_delimiter = ',')]
    pin: Vec<Pin>,

    /// File with the token that you were invited with [default: the environment variable QUEENS_TOKEN]
    #[arg(long, env = "QUEENS_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Your own TLS certificate (PEM), if you were invited by its key and not by a token [default: none]
    #[arg(long, env = "QUEENS_CLIENT_CERT", value_name = "FILE", requires = "client_key")]
    client_cert: Option<PathBuf>,

    /// The private key of that [default: none]
    #[arg(long, env = "QUEENS_CLIENT_KEY", value_name = "FILE", requires = "client_cert")]
    client_key: Option<PathBuf>,
}

impl CredentialsArgs {
    /// All of that.
    ///
    /// # Errors
    /// If there is no token where one should be.
    pub fn credentials(&self) -> Result<Credentials, CredentialsError> {
        let trust = match (&self.ca, &self.pin[..]) {
            (Some(path), []) => Trust::Authorities(path.clone()),
            (None, []) => Trust::Public,
            (_, pins) => Trust::pinned(pins)?,
        };
        let token = Credentials::take_token(self.token_file.as_deref())?;
        let certificate = self.client_cert.clone().zip(self.client_key.clone());
        Ok(Credentials { trust, token, certificate })
    }
}
