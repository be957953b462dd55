//! The link of a campaign, and how its site proves itself.

use std::path::PathBuf;

use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use queens_auth::{Pin, Trust};
use queens_program::CONNECTION;
use queens_proto::client::is_this_machine;

/// The campaign that this worker has joined.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CampaignArgs {
    /// Link of the campaign that this worker has joined: if it reaches no coordinator, it asks there where they are
    /// [default: none]
    #[arg(long, help_heading = CONNECTION, env = "QUEENS_CAMPAIGN", value_name = "URL", value_parser = link)]
    campaign: Option<Uri>,

    /// CA certificates (PEM) to verify that site with [default: Mozilla's root certificates]
    #[arg(long, help_heading = CONNECTION, env = "QUEENS_CAMPAIGN_CA", value_name = "FILE", conflicts_with = "campaign_pin")]
    campaign_ca: Option<PathBuf>,

    /// Public keys of that site; only with one of them, it may name coordinators with keys that this worker does not
    /// know [default: verified by --campaign-ca]
    #[arg(long, help_heading = CONNECTION, env = "QUEENS_CAMPAIGN_PIN", value_name = "sha256:…", value_delimiter = ',')]
    campaign_pin: Vec<Pin>,
}

/// A campaign that somebody has joined.
#[derive(Clone, Debug)]
pub(crate) struct JoinedCampaign {
    /// Its link, with its code.
    pub(crate) link: Uri,
    /// How its site proved itself when it was joined.
    pub(crate) trust: Trust,
}

impl CampaignArgs {
    /// Returns the campaign, if the worker has joined one.
    ///
    /// # Errors
    /// If there are too many pins.
    pub(crate) fn campaign(self) -> anyhow::Result<Option<JoinedCampaign>> {
        let trust = Trust::of(self.campaign_ca.as_deref(), &self.campaign_pin)?;
        Ok(self.campaign.map(|link| JoinedCampaign { link, trust }))
    }
}

/// Returns the URL by which programs use a link.
///
/// # Errors
/// If the link has no path, which [`link`] excludes.
pub(crate) fn api_url(link: &Uri) -> anyhow::Result<Uri> {
    let mut parts = link.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("/api/v1{}", link.path()))?);
    Ok(Uri::from_parts(parts)?)
}

/// Parses the link to a campaign.
///
/// # Errors
/// If the text is none, or its answers could be read by others.
pub(crate) fn link(text: &str) -> Result<Uri, String> {
    const EXPECTED: &str = "expected the link to a campaign, such as https://HOST/join/CODE";
    let text = text.strip_suffix('/').unwrap_or(text);
    let uri: Uri = text.parse().map_err(|_| EXPECTED)?;
    let code = uri.path().strip_prefix("/join/").unwrap_or_default();
    let is_code = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_host = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    if !is_code || !is_host || uri.query().is_some() || text.contains('#') {
        return Err(EXPECTED.to_owned());
    }
    check_scheme(&uri)?;
    Ok(uri)
}

/// Checks that nobody can read or change the answer.
///
/// # Errors
/// If it is neither encrypted nor from this machine.
pub(crate) fn check_scheme(uri: &Uri) -> Result<(), String> {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if is_this_machine(host) => Ok(()),
        _ => Err("a token is sent over https only, or on this machine itself".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_encrypted_or_of_this_machine() {
        for text in [
            "https://queens.example.org/join/0abc",
            "https://queens.example.org:8080/join/0abc/",
            "https://[2001:db8::1]:8080/join/0abc",
            "http://127.0.0.1:8080/join/0abc",
            "http://[::1]:8080/join/0abc",
            "http://localhost/join/0abc",
        ] {
            assert!(link(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "0abc",
            "http://queens.example.org/join/0abc",
            "http://127.0.0.1.example.org/join/0abc",
            "ftp://queens.example.org/join/0abc",
            "https://queens.example.org/join/",
            "https://queens.example.org/join/0abc/x",
            "https://queens.example.org/join/0abc?x",
            "https://queens.example.org/join/0abc#x",
            "https://queens.example.org/join/..%2f",
            "https://user@queens.example.org/join/0abc",
            "https://queens.example.org",
            "queens.example.org/join/0abc",
        ] {
            assert!(link(text).is_err(), "{text}");
        }
    }
}
