//! Answers requests of strangers who have a join link: what they may see, and their own invitation.

use std::net::IpAddr;

use queens_auth::JoinCode;
use queens_model::{Name, Person};
use queens_store::unix_ms;

use super::authenticator::Authenticator;
use super::campaign::Campaign;
use super::join::{Application, JoinRefusal, Joined, Location};

impl Authenticator {
    /// Returns the pin of the key that this coordinator had at its start; `None` without TLS.
    pub(crate) fn pin(&self) -> Option<&str> {
        self.invited()?.place.pin.as_deref()
    }

    /// Returns whether workers need a token.
    pub(crate) fn wants_tokens(&self) -> bool {
        self.invited().is_some()
    }

    /// Returns the URL of the pages for people.
    pub(crate) fn pages(&self) -> &str {
        self.invited().and_then(|invited| invited.place.pages.as_deref()).unwrap_or("https://HOST:PORT")
    }

    /// Returns whether there were campaigns, and nobody can join any of them.
    pub(crate) fn have_campaigns_ended(&self) -> bool {
        self.store().is_some_and(|store| store.known().have_campaigns_ended(unix_ms()))
    }

    /// Returns the open campaign of a join code. Delays the answer to wrong and closed codes, which are answered alike.
    pub(crate) async fn campaign(&self, code: &str, peer: Option<IpAddr>) -> Option<Campaign> {
        let campaign = self.open_campaign(code).await;
        if campaign.is_none() {
            self.delay_after_failure(peer).await;
        }
        campaign
    }

    /// Returns the people who joined a campaign and whose invitations are not revoked, in no order.
    pub(crate) fn people(&self) -> Vec<Person> {
        self.store().map(|store| store.known().people()).unwrap_or_default()
    }

    /// Returns where those who have a join code find the coordinators; `Unknown` if no campaign has it, and `NoUrl`
    /// also if the store can't be read. Closed and expired campaigns tell it, too: people have joined them. Delays the
    /// answer to wrong codes.
    pub(crate) async fn location(&self, code: &str, peer: Option<IpAddr>) -> Result<Location, JoinRefusal> {
        let campaign = self.campaign_of(code, |_| true).await;
        let Some(invited) = self.invited().filter(|_| campaign.is_some()) else {
            self.delay_after_failure(peer).await;
            return Err(JoinRefusal::Unknown);
        };
        Location::of(&invited.invitations.places().await).ok_or(JoinRefusal::NoUrl)
    }

    /// Makes an invitation for a person who has a join code, and records that in the audit log.
    pub(crate) async fn join(
        &self,
        code: &str,
        name: &Name,
        peer: Option<IpAddr>,
    ) -> Result<Joined, JoinRefusal> {
        let joined = self.try_join(code, name, peer).await;
        if let Err(refusal) = &joined {
            self.not_joined(&refusal.to_string(), peer);
            if *refusal == JoinRefusal::Unknown {
                self.delay_after_failure(peer).await;
            }
        }
        joined
    }

    async fn try_join(&self, code: &str, name: &Name, peer: Option<IpAddr>) -> Result<Joined, JoinRefusal> {
        let campaign = self.open_campaign(code).await.ok_or(JoinRefusal::Unknown)?;
        let invited = self.invited().ok_or(JoinRefusal::Unknown)?;
        invited.join_throttle.begin(peer)?;
        let application = Application { hash: campaign.hash, name: name.clone(), peer, now_ms: unix_ms() };
        let joined = invited.invitations.join(application).await;
        // Other refusals cost the sender a try: each takes a transaction.
        if let Err(JoinRefusal::Unavailable | JoinRefusal::NoUrl) = joined {
            invited.join_throttle.take_back(peer);
        }
        joined
    }

    /// Returns the open campaign of a join code.
    async fn open_campaign(&self, code: &str) -> Option<Campaign> {
        self.campaign_of(code, |campaign| campaign.is_open(unix_ms())).await
    }

    /// Returns the campaign of a join code, if it meets a condition.
    async fn campaign_of(&self, code: &str, is_meant: impl Fn(&Campaign) -> bool) -> Option<Campaign> {
        let invitations = &self.invited()?.invitations;
        let hash = code.parse::<JoinCode>().ok()?.hash();
        let find = || invitations.known().campaign(&hash).filter(&is_meant);
        if let Some(campaign) = find() {
            return Some(campaign);
        }
        // It may be less than a second old.
        invitations.refresh().await;
        find()
    }
}
