//! Finds the coordinators of a campaign again after they moved: asks the campaign's site, and follows a trusted answer.
//!
//! The worker's token goes to the new address, so the rule is strict. A site that proved itself by a pin may name any
//! coordinators, with the pins of their keys. An authority proves only who owns a name today, and names change owners.
//! So a site that proved itself by an authority may name new addresses only of keys, or on hosts, that the worker
//! knows.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use queens_auth::{Credentials, Pin, Trust};
use queens_counting::{Metrics, PauseFlag};
use queens_model::plain;
use queens_proto::client::Routes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tonic::transport::Endpoint;
use tracing::{debug, info, warn};

use crate::campaign_link::JoinedCampaign;
use crate::join_request::{Location, Response, ask};
use crate::user_config::{Place, relocate};

/// The interval between looks at the connections.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The first and the longest pause without a connection before the site is asked, in exponential growth. Jitter adds up
/// to once the pause. A coordinator that restarts is back sooner.
const PAUSES: (Duration, Duration) = (Duration::from_secs(40), Duration::from_secs(20 * 60));

/// Watches the connections of this process, and changes the routes after the coordinators moved.
#[derive(Debug)]
pub(crate) struct Relocation {
    campaign: JoinedCampaign,
    place: Place,
    credentials: Credentials,
    routes: watch::Sender<Routes>,
    /// The user's file, which is kept up to date.
    file: Option<PathBuf>,
}

impl Relocation {
    /// Prepares to find the coordinators of `campaign`, which are expected at `coordinators` now.
    pub(crate) fn new(
        campaign: JoinedCampaign,
        coordinators: Vec<Endpoint>,
        credentials: Credentials,
        routes: watch::Sender<Routes>,
        file: Option<PathBuf>,
    ) -> Self {
        let place = Place { coordinators, trust: credentials.trust.clone() };
        Self { campaign, place, credentials, routes, file }
    }

    /// Asks the site whenever no worker of this process has had a connection for some time, until it is dropped. Pauses
    /// do not count.
    pub(crate) async fn run(mut self, metrics: Arc<Metrics>, pause: PauseFlag) {
        let (mut pauses, mut due) = (pauses(), None);
        loop {
            sleep(LOOK_AGAIN).await;
            if pause.is_set() || metrics.activity().n_connected > 0 {
                (pauses, due) = (self::pauses(), None);
                continue;
            }
            match due {
                Some(due) if Instant::now() < due => continue,
                Some(_) => self.ask_again().await,
                // The connection was just lost.
                None => {}
            }
            due = Some(Instant::now() + pauses.next().unwrap_or(PAUSES.1));
        }
    }

    async fn ask_again(&mut self) {
        let response = match ask(&self.campaign, None).await {
            Ok(response) => response,
            Err(error) => {
                return debug!(reason = %format!("{error:#}"), "the campaign's site does not answer");
            }
        };
        match self.moved(&response) {
            Ok(None) => debug!("the campaign's site names the same coordinators"),
            Ok(Some((place, routes))) => self.follow(place, routes),
            Err(error) => warn!(
                site = self.campaign.link.host(), reason = %format!("{error:#}"),
                "not looking where the campaign's site says the coordinator is"
            ),
        }
    }

    fn follow(&mut self, place: Place, routes: Routes) {
        info!(
            site = self.campaign.link.host(),
            coordinator = place.urls().join(","),
            "the coordinator has moved, as the campaign's site says: looking there"
        );
        self.place = place;
        self.routes.send_replace(routes);
        let Some(file) = &self.file else { return };
        match relocate(file, &self.campaign.link.to_string(), &self.place) {
            Ok(true) => info!(file = %file.display(), "the new address is kept"),
            // Other options were given, or the user has joined another campaign meanwhile.
            Ok(false) => {}
            Err(error) => warn!(file = %file.display(), %error, "the new address can't be kept"),
        }
    }

    /// Returns where the coordinators are by the site's answer; `None` if that is known.
    fn moved(&self, response: &Response) -> anyhow::Result<Option<(Place, Routes)>> {
        ensure!(response.status.is_success(), "it answered {}", response.status);
        let location: Location = serde_json::from_slice(&response.body).context("it sent nonsense")?;
        let told = location.parse().context("it sent nonsense")?;
        // On this machine without TLS, whoever takes the port first would answer, and shows no key.
        let is_encrypted = self.campaign.link.scheme_str() == Some("https");
        let site = if is_encrypted { &self.campaign.trust } else { &Trust::Public };
        let place = followed(site, &self.place, told)?;
        if place == self.place {
            return Ok(None);
        }
        let credentials = Credentials { trust: place.trust.clone(), ..self.credentials.clone() };
        let routes = Routes::new(place.coordinators.clone(), credentials)?;
        Ok(Some((place, routes)))
    }
}

fn pauses() -> ExponentialBackoff {
    let builder = ExponentialBuilder::default().with_min_delay(PAUSES.0).with_max_delay(PAUSES.1);
    builder.without_max_times().with_jitter().build()
}

/// Returns where to look after a site that proved itself by `site` has told something, as far as it may.
///
/// # Errors
/// If the token could get to somebody who could not have got it before.
fn followed(
    site: &Trust,
    known: &Place,
    (coordinators, pins): (Vec<Endpoint>, Vec<Pin>),
) -> anyhow::Result<Place> {
    let is_plain = |one: &Endpoint| one.uri().scheme_str() != Some("https");
    ensure!(
        known.coordinators.iter().any(is_plain) || !coordinators.iter().any(is_plain),
        "it names a coordinator that does not encrypt, and those that this worker knows do"
    );
    let mut place = Place { coordinators, trust: known.trust.clone() };
    match (&known.trust, site) {
        // The key of the site is the one that was told with the link.
        (_, Trust::Pinned(_)) if !pins.is_empty() => place.trust = Trust::pinned(&pins)?,
        (Trust::Pinned(known), _) => {
            let is_known = pins.is_empty() || pins.iter().any(|pin| known.contains(pin));
            ensure!(
                is_known,
                "it names keys that this worker does not know, and is known by an authority only"
            );
        }
        (Trust::Public | Trust::Authorities(_), _) => {
            let is_known =
                |endpoint: &Endpoint| known.coordinators.iter().any(|one| host(one) == host(endpoint));
            if let Some(stranger) = place.coordinators.iter().find(|one| !is_known(one)) {
                let host = host(stranger).unwrap_or_default();
                bail!(
                    "it names the host '{}', which this worker does not know, and no key",
                    plain::line(host)
                );
            }
        }
    }
    Ok(place)
}

fn host(endpoint: &Endpoint) -> Option<&str> {
    endpoint.uri().host()
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use queens_auth::Token;
    use queens_proto::client::endpoint;
    use serde_json::json;

    use super::*;
    use crate::campaign_link::link;

    fn pin(digit: char) -> Pin {
        format!("sha256:{}", digit.to_string().repeat(64)).parse().expect("a pin")
    }

    fn pinned(digit: char) -> Trust {
        Trust::Pinned(vec![pin(digit)])
    }

    /// Returns a worker that knows a coordinator at `https://old:1`, whose campaign's site proves itself by `site`.
    fn relocation(site: Trust, known: Trust) -> Relocation {
        let campaign = JoinedCampaign { link: link("https://site/join/0abc").expect("a link"), trust: site };
        let credentials =
            Credentials { trust: known, token: Some(Token::random(3).expect("random")), certificate: None };
        let coordinators = vec![endpoint("https://old:1").expect("a URL")];
        let routes = Routes::new(coordinators.clone(), credentials.clone()).expect("routes");
        Relocation::new(campaign, coordinators, credentials, watch::channel(routes).0, None)
    }

    /// Returns where the worker goes after an answer.
    fn moved(
        relocation: &Relocation,
        coordinator: &str,
        pin: Option<String>,
    ) -> Result<Option<(String, Trust)>, String> {
        let body = json!({ "coordinator": coordinator, "pin": pin }).to_string().into();
        let moved = relocation.moved(&Response { status: StatusCode::OK, location: None, body });
        let place = moved.map(|moved| moved.map(|(place, _)| (place.urls().join(","), place.trust)));
        place.map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_site_with_the_pin_of_the_link_leads_to_any_address_and_key() {
        let (a, b) = (pinned('a'), pinned('b'));
        let relocation = relocation(a.clone(), a.clone());
        let check = |urls: &str, pin: Option<String>, expected: Option<(&str, &Trust)>| {
            let expected = expected.map(|(urls, trust)| (urls.to_owned(), trust.clone()));
            assert_eq!(moved(&relocation, urls, pin), Ok(expected));
        };
        check("https://old:1", Some(pin('a').to_string()), None);
        check("https://new:2", Some(pin('a').to_string()), Some(("https://new:2", &a)));
        check("https://new:2", Some(pin('b').to_string()), Some(("https://new:2", &b)));
        check("https://old:1,https://new:2", None, Some(("https://old:1,https://new:2", &a)));
    }

    /// Somebody got the name of the site, and a certificate for it.
    #[test]
    fn a_site_without_the_pin_leads_to_nobody_who_did_not_have_the_token() {
        for site in [Trust::Public, Trust::Authorities("ca.pem".into())] {
            let relocation = relocation(site.clone(), pinned('a'));
            for (urls, pin, expected) in [
                ("https://new:2", Some(pin('a')), Some("https://new:2")),
                ("https://new:2", None, Some("https://new:2")),
                ("https://new:2", Some(pin('b')), None),
                ("https://old:2", Some(pin('b')), None),
            ] {
                let found = moved(&relocation, urls, pin.map(|pin| pin.to_string()));
                let expected = expected.map(|url| (url.to_owned(), pinned('a')));
                assert_eq!(found.ok().flatten(), expected, "{urls}");
            }
            // Without any key, the host has to be known.
            let relocation = self::relocation(site, Trust::Public);
            for pin in [None, Some(pin('b').to_string())] {
                let found = moved(&relocation, "https://old:2", pin.clone());
                assert_eq!(found, Ok(Some(("https://old:2".to_owned(), Trust::Public))));
                let refused = moved(&relocation, "https://old:2,https://new:1", pin).expect_err("refused");
                assert!(refused.contains("it names the host 'new'"), "{refused}");
            }
        }
    }

    #[test]
    fn a_site_without_tls_proves_nothing_whatever_pins_were_given() {
        let mut relocation = relocation(pinned('a'), pinned('a'));
        relocation.campaign.link = link("http://localhost:8080/join/0abc").expect("a link");
        assert!(moved(&relocation, "https://new:2", Some(pin('b').to_string())).is_err());
        let known = moved(&relocation, "https://new:2", Some(pin('a').to_string()));
        assert_eq!(known, Ok(Some(("https://new:2".to_owned(), pinned('a')))));
    }

    #[test]
    fn nonsense_and_refusals_change_nothing() {
        let relocation = relocation(pinned('a'), pinned('a'));
        let a = || Some(pin('a').to_string());
        for (urls, pin) in [
            ("", a()),
            ("ftp://new:1", a()),
            ("https://new:1,", a()),
            ("https://new:1", Some(String::new())),
            ("https://new:1", Some("sha256:0".to_owned())),
        ] {
            assert!(moved(&relocation, urls, pin.clone()).is_err(), "{urls} {pin:?}");
        }
        // The token would be sent in the clear.
        for plain in
            ["http://new:1", "http://localhost:1", "http://127.0.0.1:1", "https://new:1,http://[::1]:1"]
        {
            assert!(moved(&relocation, plain, a()).is_err(), "{plain}");
        }
        let repeated = moved(&relocation, "https://new:1,https://new:1", a());
        assert_eq!(repeated, Ok(Some(("https://new:1".to_owned(), pinned('a')))));
        let many: Vec<String> = (1..=17).map(|port| format!("https://new:{port}")).collect();
        assert!(moved(&relocation, &many.join(","), a()).is_err());
        for (status, body) in [(404, r#"{"error":"no campaign has this link"}"#), (200, "<html>"), (302, "")]
        {
            let status = StatusCode::from_u16(status).expect("a status");
            let response = Response { status, location: None, body: body.into() };
            assert!(relocation.moved(&response).is_err(), "{status}");
        }
    }
}
