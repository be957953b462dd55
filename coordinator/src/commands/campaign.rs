//! The commands that open, close and list campaigns, which strangers join by a link.

use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use queens_auth::JoinCode;
use queens_model::JobId;
use queens_program::{print, say};
use queens_store::unix_ms;

use super::invite::{InvitationStoreArgs, MOST_NAMES, duration, milliseconds, open_for, wait_for_places};
use crate::access::{Campaign, CampaignKey, CampaignTerms, PublishedAddress};

/// Maximal people of one campaign.
const MOST_PEOPLE: u32 = 100_000;

#[derive(Debug, Subcommand)]
pub(crate) enum CampaignCommand {
    /// Open a campaign, and print the link by which people join it; its code is shown only once
    ///
    /// Everybody who has the link can make one worker's invitation, within the limits below. The page at the link shows
    /// what is counted and how to join. Running coordinators accept the link at once.
    Open(Box<OpenArgs>),

    /// Close one or all campaigns: nobody can join any more
    ///
    /// Those who have joined keep their invitations and go on counting; 'queens-coordinator revoke' ends an invitation.
    Close {
        /// Number of the campaign, from 'queens-coordinator campaign list', or the code in its link
        #[arg(value_name = "CAMPAIGN", required_unless_present = "all", value_parser = key)]
        campaign: Option<CampaignKey>,

        /// Close all campaigns
        #[arg(long, conflicts_with = "campaign")]
        all: bool,

        #[command(flatten)]
        store: InvitationStoreArgs,
    },

    /// Open a closed or expired campaign again, under its old link
    Reopen {
        /// Number of the campaign, from 'queens-coordinator campaign list', or the code in its link
        #[arg(value_name = "CAMPAIGN", value_parser = key)]
        campaign: CampaignKey,

        /// How long people may join from now on, such as 90d, 12h or 30m
        #[arg(long, value_name = "TIME", value_parser = duration, default_value = "90d")]
        expires: Duration,

        #[command(flatten)]
        store: InvitationStoreArgs,
    },

    /// List all campaigns, with the number of people who have joined each, without those who are revoked
    List(InvitationStoreArgs),
}

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Job that the page shows [default: none]
    #[arg(value_name = "JOB")]
    job: Option<JobId>,

    /// How many people may join; who is revoked does not count
    #[arg(long, value_name = "K", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_PEOPLE)))]
    most_people: u32,

    /// How long people may join, such as 90d, 12h or 30m; invitations stay
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "90d")]
    expires: Duration,

    /// How many worker names each person may use, for several machines and cards
    #[arg(long, value_name = "K", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_NAMES)))]
    names_each: u32,

    /// Let nobody count until you approve them: 'queens-coordinator approve'
    #[arg(long)]
    approve: bool,

    #[command(flatten)]
    store: InvitationStoreArgs,
}

pub(crate) fn campaign(command: &CampaignCommand) -> anyhow::Result<()> {
    match command {
        CampaignCommand::Open(args) => open(args),
        CampaignCommand::Close { campaign, all: _, store } => close(campaign.as_ref(), store),
        CampaignCommand::Reopen { campaign, expires, store } => {
            let now_ms = unix_ms();
            let expires_ms = now_ms.saturating_add(milliseconds(*expires));
            print(&line_of(&store.open()?.reopen_campaign(campaign, expires_ms)?, now_ms))
        }
        CampaignCommand::List(store) => list(store),
    }
}

fn open(args: &OpenArgs) -> anyhow::Result<()> {
    let (mut store, places) = wait_for_places(&args.store)?;
    if places.iter().all(|place| place.url.is_none()) {
        bail!(
            "workers of strangers would not find the coordinator, which does not know its own URL: start it with --url"
        );
    }
    let pages = places.iter().find_map(|place| place.pages.as_deref()).unwrap_or_else(|| {
        say("HOST:PORT is where others reach the pages of the coordinator: start it with --http, and with --pages-url behind a proxy");
        "https://HOST:PORT"
    });
    let code = JoinCode::random().context("failed to draw a join code")?;
    let now_ms = unix_ms();
    let wanted = CampaignTerms {
        job: args.job,
        expires_ms: now_ms.saturating_add(milliseconds(args.expires)),
        most_people: args.most_people,
        n_names: args.names_each,
        approve: args.approve,
    };
    let number = store.open_campaign(&wanted, &code, now_ms)?;
    let pins = PublishedAddress::pins(&places);
    let pin = pins.map(|pins| format!(" --pin {pins}")).unwrap_or_default();
    let link = format!("{pages}/join/{}", code.secret());
    say(&format!(
        "campaign {number} is open for {} people; its link is not kept and not shown again. The page at the link, and the \
         line for one person:",
        args.most_people
    ));
    print(&format!("{link}\n queens-worker join {link}{pin}")).context("failed to print the link")
}

fn close(campaign: Option<&CampaignKey>, store: &InvitationStoreArgs) -> anyhow::Result<()> {
    let mut store = store.open()?;
    let closed = match campaign {
        Some(key) => vec![store.close_campaign(key)?],
        None => store.close_all_campaigns(unix_ms())?,
    };
    if closed.is_empty() {
        return print("no campaign is open");
    }
    for Campaign { number, n_people, .. } in closed {
        print(&format!("campaign {number} is closed: nobody can join it any more; {}", stay(n_people)))?;
    }
    Ok(())
}

fn stay(n_people: u32) -> String {
    match n_people {
        0 => "nobody had joined".to_owned(),
        1 => "the invitation of 1 person stays, and 'queens-coordinator revoke' ends it".to_owned(),
        n => format!("the invitations of {n} people stay, and 'queens-coordinator revoke' ends each"),
    }
}

fn list(store: &InvitationStoreArgs) -> anyhow::Result<()> {
    let all = store.open()?.campaigns()?;
    if all.is_empty() {
        return print("there are no campaigns");
    }
    let now_ms = unix_ms();
    all.iter().try_for_each(|one| print(&line_of(one, now_ms)))
}

fn line_of(campaign: &Campaign, now_ms: u64) -> String {
    let Campaign { number, terms, closed, n_people, .. } = campaign;
    let CampaignTerms { job, expires_ms, most_people, n_names, approve } = terms;
    let job = job.map(|job| format!("  job {job}")).unwrap_or_default();
    let state = match expires_ms.checked_sub(now_ms) {
        _ if *closed => "closed".to_owned(),
        None | Some(0) => "expired".to_owned(),
        Some(left) => open_for(left),
    };
    let approve = if *approve { "  each to be approved" } else { "" };
    format!("{number}{job}  {state}  {n_people} of {most_people} people  {n_names} names each{approve}")
}

/// Parses a campaign's number or its code.
fn key(text: &str) -> Result<CampaignKey, String> {
    if let Ok(code) = text.parse() {
        return Ok(CampaignKey::Code(code));
    }
    let number = text.parse().map(CampaignKey::Number);
    number.map_err(|_| "expected the number of a campaign, or the code at the end of its link".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_campaign_has_a_number_and_a_code() {
        assert_eq!(key("12"), Ok(CampaignKey::Number(12)));
        let code = JoinCode::random().expect("random");
        assert_eq!(key(code.secret()), Ok(CampaignKey::Code(code)));
        for text in ["", "-1", "job 3", "https://host/join/x"] {
            assert!(key(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_line_says_whether_people_can_join() {
        let open = Campaign {
            number: 3,
            hash: [0; 32],
            terms: CampaignTerms {
                job: Some(JobId(7)),
                expires_ms: 7_200_000,
                most_people: 10,
                n_names: 2,
                approve: false,
            },
            closed: false,
            n_people: 4,
        };
        let approved = CampaignTerms { approve: true, ..open.terms };
        let of_any = CampaignTerms { job: None, ..open.terms };
        assert_eq!(line_of(&open, 1), "3  job 7  open for 2 h  4 of 10 people  2 names each");
        let long = CampaignTerms { expires_ms: 90 * 86_400_000, ..open.terms };
        assert!(line_of(&Campaign { terms: long, ..open }, 1).contains("  open for 90 days  "));
        assert!(line_of(&open, 7_200_000).contains("  expired  "));
        assert!(line_of(&Campaign { terms: approved, ..open }, 1).ends_with("  each to be approved"));
        assert!(line_of(&Campaign { closed: true, terms: of_any, ..open }, 1).starts_with("3  closed  "));
    }
}
