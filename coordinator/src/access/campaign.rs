//! Campaigns: links by which strangers make invitations for themselves, within limits.

use queens_auth::JoinCode;
use queens_model::JobId;
use queens_store::sql::database::{Database, Row, first};
use queens_store::sql::fault::Fault;
use queens_store::sql::table::Table;
use rusqlite::types::Value;

use super::invitation_store::InvitationStore;
use super::invitation_store_error::{InvitationStoreError, MOST_CAMPAIGNS};
use super::rows::{number, select, signed};

/// The table of campaigns, which belong to no job.
pub(super) static CAMPAIGN: Table = Table::without_digest(
    "campaign",
    &["number", "hash", "job", "made_ms", "expires_ms", "closed", "most_people", "n_names", "approve"],
    1,
);

/// What an operator sets for a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CampaignTerms {
    /// The job that its page shows.
    pub(crate) job: Option<JobId>,
    /// When the link ends, in milliseconds since 1970.
    pub(crate) expires_ms: u64,
    /// How many people may join, 1 to 100,000.
    pub(crate) most_people: u32,
    /// How many worker names each of them may use, 1 to 100,000.
    pub(crate) n_names: u32,
    /// Whether an operator has to approve each of them.
    pub(crate) approve: bool,
}

/// A campaign that strangers may join by a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Campaign {
    /// From 1 on.
    pub(crate) number: u64,
    /// The hash of its join code.
    pub(crate) hash: [u8; 32],
    pub(crate) terms: CampaignTerms,
    pub(crate) closed: bool,
    /// How many people had joined when it was read, without those whose invitations are revoked.
    pub(crate) n_people: u32,
}

/// How an operator names a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CampaignKey {
    Number(u64),
    Code(JoinCode),
}

impl Campaign {
    /// Returns whether people may join it, unless it is full.
    pub(crate) fn is_open(&self, now_ms: u64) -> bool {
        !self.closed && now_ms < self.terms.expires_ms
    }
}

impl InvitationStore {
    /// Opens a campaign with this join code; returns its number.
    pub(crate) fn open_campaign(
        &mut self,
        wanted: &CampaignTerms,
        code: &JoinCode,
        now_ms: u64,
    ) -> Result<u64, InvitationStoreError> {
        self.backend.transact(|database| {
            let count = "SELECT count(*) AS n FROM campaign";
            let n_campaigns: Option<i64> = first(database, count, &[], |row| row.get("n", &"campaigns"))?;
            if n_campaigns.unwrap_or_default() >= MOST_CAMPAIGNS {
                return Err(InvitationStoreError::TooManyCampaigns.into());
            }
            let sql =
                "INSERT INTO campaign (hash, job, made_ms, expires_ms, closed, most_people, n_names, approve)
                       VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7) RETURNING number";
            let values = [
                code.hash().to_vec().into(),
                wanted.job.map(|job| signed(job.0)).into(),
                signed(now_ms).into(),
                signed(wanted.expires_ms).into(),
                wanted.most_people.into(),
                wanted.n_names.into(),
                wanted.approve.into(),
            ];
            let number = first(database, sql, &values, |row| number(row, "number"))?;
            Ok(number.ok_or_else(|| Fault::Damaged("a campaign has no number".to_owned()))?)
        })
    }

    /// Closes a campaign; returns it. Its invitations stay.
    pub(crate) fn close_campaign(&mut self, key: &CampaignKey) -> Result<Campaign, InvitationStoreError> {
        self.change_campaign(key, "UPDATE campaign SET closed = 1 WHERE number = ?1", &[])
    }

    /// Opens a campaign again until a time, with the code that it had; returns it.
    pub(crate) fn reopen_campaign(
        &mut self,
        key: &CampaignKey,
        expires_ms: u64,
    ) -> Result<Campaign, InvitationStoreError> {
        let sql = "UPDATE campaign SET closed = 0, expires_ms = ?2 WHERE number = ?1";
        self.change_campaign(key, sql, &[signed(expires_ms).into()])
    }

    /// Changes a campaign, whose number is the first parameter of `sql`; returns it.
    fn change_campaign(
        &mut self,
        key: &CampaignKey,
        sql: &str,
        values: &[Value],
    ) -> Result<Campaign, InvitationStoreError> {
        self.backend.transact(|database| {
            let (condition, value) = match key {
                CampaignKey::Number(number) => ("number = ?1", signed(*number).into()),
                CampaignKey::Code(code) => ("hash = ?1", code.hash().to_vec().into()),
            };
            let found = find(database, condition, value)?.ok_or(InvitationStoreError::UnknownCampaign)?;
            let number = Value::from(signed(found.number));
            database.change(sql, &[std::slice::from_ref(&number), values].concat())?;
            Ok(find(database, "number = ?1", number)?.unwrap_or(found))
        })
    }

    /// Closes all campaigns; returns those that were open, as they were. Their invitations stay.
    pub(crate) fn close_all_campaigns(&mut self, now_ms: u64) -> Result<Vec<Campaign>, InvitationStoreError> {
        self.backend.transact(|database| {
            let mut open = all(database)?;
            open.retain(|campaign| campaign.is_open(now_ms));
            database.change("UPDATE campaign SET closed = 1 WHERE closed = 0", &[])?;
            Ok(open)
        })
    }

    /// Returns all campaigns, ordered by number.
    pub(crate) fn campaigns(&mut self) -> Result<Vec<Campaign>, InvitationStoreError> {
        self.backend.read(all)
    }
}

/// Returns the campaign whose code has this hash, if there is one.
pub(super) fn campaign_of(database: &dyn Database, hash: &[u8; 32]) -> Result<Option<Campaign>, Fault> {
    find(database, "hash = ?1", hash.to_vec().into())
}

fn find(database: &dyn Database, condition: &str, value: Value) -> Result<Option<Campaign>, Fault> {
    first(database, &format!("{SELECT} WHERE {condition}"), &[value], campaign)
}

fn all(database: &dyn Database) -> Result<Vec<Campaign>, Fault> {
    select(database, &format!("{SELECT} ORDER BY number"), &[], campaign)
}

const SELECT: &str = "SELECT number, hash, job, expires_ms, closed, most_people, n_names, approve,
    (SELECT count(*) FROM invitation WHERE campaign = campaign.number AND revoked = 0) AS n_people FROM campaign";

fn campaign(row: &Row<'_>) -> Result<Campaign, Fault> {
    let number = number(row, "number")?;
    let place = format!("campaign {number}");
    Ok(Campaign {
        number,
        hash: row.get("hash", &place)?,
        terms: CampaignTerms {
            job: row.get::<Option<i64>>("job", &place)?.map(|job| JobId(job.unsigned_abs())),
            expires_ms: super::rows::number(row, "expires_ms")?,
            most_people: row.get("most_people", &place)?,
            n_names: row.get("n_names", &place)?,
            approve: row.get("approve", &place)?,
        },
        closed: row.get("closed", &place)?,
        n_people: row.get("n_people", &place)?,
    })
}
