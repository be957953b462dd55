//! All invitations, worker names and campaigns in memory, with indices.

use std::collections::HashMap;
use std::sync::Arc;

use queens_auth::{Invitation, Pin, Proof};
use queens_model::{Name, Party, Person};
use tokio_util::sync::CancellationToken;

use super::campaign::Campaign;
use super::quota::Usage;

/// All invitations, names and campaigns, as the store had them when it was last read.
#[derive(Debug, Default)]
pub(super) struct KnownInvitations {
    by_number: HashMap<u64, CachedInvitation>,
    /// Numbers of invitations. After a restore to an earlier state, a number may belong to another party.
    by_party: HashMap<Party, u64>,
    /// The latest invitation of each key.
    by_key: HashMap<Pin, u64>,
    /// The owners of worker names.
    pub(super) names: HashMap<Name, Party>,
    /// Campaigns by the hashes of their codes.
    campaigns: HashMap<[u8; 32], Campaign>,
}

/// An invitation, open or ended, and its present use.
#[derive(Clone, Debug)]
pub(super) struct CachedInvitation {
    pub(super) invitation: Arc<Invitation>,
    /// Cancelled when the invitation ends.
    pub(super) ended: CancellationToken,
    pub(super) usage: Arc<Usage>,
}

impl CachedInvitation {
    fn new(invitation: Invitation) -> Self {
        Self { invitation: Arc::new(invitation), ended: CancellationToken::new(), usage: Arc::default() }
    }
}

impl KnownInvitations {
    pub(super) fn of_number(&self, number: u64) -> Option<CachedInvitation> {
        self.by_number.get(&number).cloned()
    }

    /// Returns the invitation of a party. Unlike a number, a party never changes its invitation.
    pub(super) fn of_party(&self, party: Party) -> Option<CachedInvitation> {
        self.by_party.get(&party).and_then(|number| self.of_number(*number))
    }

    /// Returns the last invitation with this key.
    pub(super) fn of_key(&self, key: &Pin) -> Option<CachedInvitation> {
        self.by_key.get(key).and_then(|number| self.of_number(*number))
    }

    /// Returns the invitations that a text names: digits by number, other texts by label. So nobody is taken for an
    /// invitation whose number is in the name.
    pub(super) fn named(&self, text: &str) -> Vec<Arc<Invitation>> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let is_named = |invitation: &&Arc<Invitation>| match is_number {
            true => invitation.number.to_string() == text,
            false => invitation.label.as_ref().is_some_and(|label| label.as_str() == text),
        };
        self.all().map(|it| &it.invitation).filter(is_named).cloned().collect()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &CachedInvitation> {
        self.by_number.values()
    }

    /// Returns the people who joined a campaign and whose invitations are approved and not revoked, in no order.
    pub(super) fn people(&self) -> Vec<Person> {
        let person = |it: &CachedInvitation| {
            let Invitation { party, label, made_ms, revoked, campaign, waiting, .. } = &*it.invitation;
            let name = label.clone().filter(|_| campaign.is_some() && !revoked && !waiting)?;
            Some(Person { party: *party, name, since_ms: *made_ms })
        };
        self.all().filter_map(person).collect()
    }

    pub(super) fn owner(&self, name: &Name) -> Option<Party> {
        self.names.get(name).copied()
    }

    /// Returns the campaign whose code has this hash, open or ended.
    pub(super) fn campaign(&self, hash: &[u8; 32]) -> Option<Campaign> {
        self.campaigns.get(hash).copied()
    }

    /// Returns whether there were campaigns, and nobody can join any of them.
    pub(super) fn have_campaigns_ended(&self, now_ms: u64) -> bool {
        !self.campaigns.is_empty() && self.campaigns.values().all(|campaign| !campaign.is_open(now_ms))
    }

    /// Adds a new invitation.
    pub(super) fn add(&mut self, invitation: Invitation) {
        self.insert(CachedInvitation::new(invitation));
    }

    /// Inserts an invitation. The last one with a key keeps the key.
    fn insert(&mut self, it: CachedInvitation) {
        let (number, party) = (it.invitation.number, it.invitation.party);
        if let Proof::Key(key) = it.invitation.proof {
            self.by_key.insert(key, number);
        }
        self.by_party.insert(party, number);
        self.by_number.insert(number, it);
    }

    /// Replaces everything. Invitations of parties that are missing now are ended and returned.
    pub(super) fn replace(
        &mut self,
        invitations: Vec<Invitation>,
        names: HashMap<Name, Party>,
        campaigns: Vec<Campaign>,
    ) -> Vec<Arc<Invitation>> {
        let before = std::mem::take(self).by_number.into_values();
        let mut before: HashMap<Party, CachedInvitation> =
            before.map(|it| (it.invitation.party, it)).collect();
        self.names = names;
        self.campaigns = campaigns.into_iter().map(|campaign| (campaign.hash, campaign)).collect();
        // In the order of their numbers: the latest invitation of a key stays.
        for invitation in invitations {
            let mut known = before.remove(&invitation.party);
            // An earlier state was restored, in which nobody had approved it: its sessions end.
            if let Some(approved) = known.take_if(|it| invitation.waiting && !it.invitation.waiting) {
                approved.ended.cancel();
            }
            self.insert(match known {
                Some(known) => CachedInvitation { invitation: Arc::new(invitation), ..known },
                None => CachedInvitation::new(invitation),
            });
        }
        // An invitation that is missing now was removed by hand, or the store was restored to an earlier state.
        before.values().for_each(|it| it.ended.cancel());
        before.into_values().map(|it| it.invitation).collect()
    }
}
