//! Requests to the site of a campaign by HTTP/1.1, over TLS for `https`.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{CONTENT_TYPE, HOST, LOCATION};
use axum::http::{Method, Request, StatusCode, Uri};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use queens_auth::{Pin, Trust, tls_reason};
use queens_proto::client::endpoint;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tonic::transport::Endpoint;

use crate::campaign_link::{JoinedCampaign, api_url, check_scheme};

/// How long the whole request may take. A coordinator answers within 15 s.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The largest accepted answer in bytes. An answer has at most 32 URLs and pins.
const LARGEST: usize = 64 << 10;

/// Redirections that are followed: a standby's to the leader, and one more.
const MOST_REDIRECTIONS: usize = 2;

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    /// The URL to ask instead, if the answer is a redirection.
    pub(crate) location: Option<String>,
    pub(crate) body: Bytes,
}

/// Where a site says that the coordinators are, unchecked.
#[derive(Debug, Deserialize)]
pub(crate) struct Location {
    coordinator: String,
    pin: Option<String>,
}

impl Location {
    /// Parses the coordinators, each once, and the pins of their keys.
    pub(crate) fn parse(&self) -> anyhow::Result<(Vec<Endpoint>, Vec<Pin>)> {
        let coordinators: Result<Vec<Endpoint>, _> = self.coordinator.split(',').map(endpoint).collect();
        let pins = self.pin.iter().flat_map(|pins| pins.split(',')).map(str::parse);
        let mut coordinators = coordinators?;
        let mut seen = BTreeSet::new();
        coordinators.retain(|one| seen.insert(one.uri().to_string()));
        Ok((coordinators, pins.collect::<Result<_, _>>()?))
    }
}

/// Posts a JSON body to the site of a campaign, or gets what it tells without one. Follows a standby's redirection to
/// the leader, which proves itself in the same way.
///
/// # Errors
/// If there is no answer, the site can't prove itself, or it redirects elsewhere.
pub(crate) async fn ask(campaign: &JoinedCampaign, body: Option<&str>) -> anyhow::Result<Response> {
    let mut uri = api_url(&campaign.link)?;
    for _ in 0..=MOST_REDIRECTIONS {
        let host = uri.host().unwrap_or_default().to_owned();
        let response = request(&uri, &campaign.trust, body).await;
        let response = response.with_context(|| format!("failed to ask '{host}'"))?;
        let Some(location) = response.location else { return Ok(response) };
        let next: Uri = location.parse().ok().context("the coordinator sent nonsense")?;
        ensure!(next.path() == uri.path(), "'{host}' leads elsewhere: it is no coordinator");
        check_scheme(&next).map_err(anyhow::Error::msg)?;
        // What proves itself must not hand over to what does not.
        ensure!(
            uri.scheme_str() != Some("https") || next.scheme_str() == Some("https"),
            "'{host}' leads to a place that is not encrypted"
        );
        uri = next;
    }
    bail!("one coordinator names the other as the leader: try again in a minute")
}

async fn request(uri: &Uri, trust: &Trust, body: Option<&str>) -> anyhow::Result<Response> {
    match tokio::time::timeout(TIMEOUT, connect_and_send(uri, trust, body)).await {
        Ok(response) => response,
        Err(_) => bail!("no answer"),
    }
}

async fn connect_and_send(uri: &Uri, trust: &Trust, body: Option<&str>) -> anyhow::Result<Response> {
    let is_encrypted = uri.scheme_str() == Some("https");
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    let request = Request::builder()
        .method(if body.is_some() { Method::POST } else { Method::GET })
        .uri(uri.path())
        .header(HOST, authority)
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(body.unwrap_or_default().to_owned()))?;
    let stream = TcpStream::connect((host.as_str(), port)).await?;
    if !is_encrypted {
        return send(stream, request).await;
    }
    let name = ServerName::try_from(host).context("no certificate can prove this name")?;
    let connector = TlsConnector::from(trust.config(&[b"http/1.1"], None)?);
    let shaken = connector.connect(name, stream).await;
    let shaken = shaken.map_err(|error| anyhow::Error::msg(tls_reason(&error.to_string()).to_owned()));
    let stream = shaken.context(
        "it is not known to be the coordinator: take the --pin or --ca that you were told with the link",
    )?;
    send(stream, request).await
}

async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Body>,
) -> anyhow::Result<Response> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let answer = async {
        let (head, body) = sender.send_request(request).await?.into_parts();
        let location = head.headers.get(LOCATION).and_then(|value| value.to_str().ok());
        let location = location.filter(|_| head.status.is_redirection()).map(str::to_owned);
        let body =
            to_bytes(Body::new(body), LARGEST).await.context("the answer is too long or broken off")?;
        Ok(Response { status: head.status, location, body })
    };
    tokio::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer,
        // It ends first if the server closes the connection after its answer.
        _ = connection => answer.await,
    }
}
