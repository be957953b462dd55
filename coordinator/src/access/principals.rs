//! All invitations and open campaigns in memory, with indices.

use std::collections::HashMap;
use std::sync::Arc;

use queens_auth::{Invitation, Pin, Proof};
use queens_model::{Name, Party, Person};
use tokio_util::sync::CancellationToken;

use super::campaign::Campaign;

/// All principals, with indices.
#[derive(Debug, Default)]
pub(super) struct Principals {
    by_number: HashMap<u64, Principal>,
    /// Numbers of invitations. After a restore to an earlier state, a number may belong to another party.
    by_party: HashMap<Party, u64>,
    /// The latest invitation of each key.
    by_key: HashMap<Pin, u64>,
    /// The owners of worker names.
    names: HashMap<Name, Party>,
    /// Campaigns by the hashes of their codes.
    campaigns: HashMap<[u8; 32], Campaign>,
}

/// An invited user, until the invitation ends.
#[derive(Clone, Debug)]
pub(super) struct Principal {
    pub(super) invitation: Arc<Invitation>,
    pub(super) ended: CancellationToken,
}

impl Principals {
    /// Returns the principal of an invitation, open or ended.
    pub(super) fn of_number(&self, invitation: u64) -> Option<Principal> {
        self.by_number.get(&invitation).cloned()
    }

    pub(super) fn of_party(&self, party: Party) -> Option<Principal> {
        self.by_party.get(&party).and_then(|invitation| self.of_number(*invitation))
    }

    /// Returns the principal that was invited last with this key.
    pub(super) fn of_key(&self, key: &Pin) -> Option<Principal> {
        self.by_key.get(key).and_then(|invitation| self.of_number(*invitation))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Principal> {
        self.by_number.values()
    }

    /// Returns the people who joined a campaign and whose invitations are approved and not revoked, in no order.
    pub(super) fn people(&self) -> Vec<Person> {
        let person = |principal: &Principal| {
            let Invitation { party, label, made_ms, revoked, campaign, waiting, .. } = &*principal.invitation;
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

    pub(super) fn add_names(&mut self, names: impl IntoIterator<Item = (Name, Party)>) {
        self.names.extend(names);
    }

    /// Adds an invitation, or replaces the one with its number. The last one with a key keeps the key.
    pub(super) fn add(&mut self, invitation: Invitation, ended: CancellationToken) {
        let (number, party) = (invitation.number, invitation.party);
        if let Proof::Key(key) = invitation.proof {
            self.by_key.insert(key, number);
        }
        self.by_party.insert(party, number);
        self.by_number.insert(number, Principal { invitation: Arc::new(invitation), ended });
    }

    /// Replaces everything. The principals of parties that are missing now are ended, and their invitations returned.
    pub(super) fn replace(
        &mut self,
        invitations: Vec<Invitation>,
        names: HashMap<Name, Party>,
        campaigns: Vec<Campaign>,
    ) -> Vec<Arc<Invitation>> {
        let before = std::mem::take(self).by_number.into_values();
        let mut before: HashMap<Party, Principal> =
            before.map(|principal| (principal.invitation.party, principal)).collect();
        self.names = names;
        self.campaigns = campaigns.into_iter().map(|campaign| (campaign.hash, campaign)).collect();
        // In the order of their numbers: the latest invitation of a key stays.
        for invitation in invitations {
            let mut principal = before.remove(&invitation.party);
            // An earlier state was restored, in which nobody had approved it: its sessions end.
            if let Some(approved) = principal.take_if(|it| invitation.waiting && !it.invitation.waiting) {
                approved.ended.cancel();
            }
            self.add(invitation, principal.map(|principal| principal.ended).unwrap_or_default());
        }
        // An invitation that is missing now was removed by hand, or the store was restored to an earlier state.
        before.values().for_each(|principal| principal.ended.cancel());
        before.into_values().map(|principal| principal.invitation).collect()
    }
}
