//! The command that joins a campaign: asks for an invitation, and keeps it in the user's configuration.

use anyhow::{Context, bail};
use axum::http::{StatusCode, Uri};
use clap::Args;
use queens_auth::{Credentials, Pin, Token, Trust};
use queens_model::{Name, plain};
use queens_program::{TrustArgs, print};
use queens_proto::client::Routes;
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Builder;

use crate::campaign_link::{JoinedCampaign, link};
use crate::join_request::{Location, Response, ask};
use crate::user_config::{Membership, UserConfig, urls, user_dir};

/// The name of a person who gives none; the coordinator adds a number.
const NOBODY: &str = "volunteer";

#[derive(Debug, Args)]
pub(crate) struct JoinArgs {
    /// Link to the campaign, such as https://HOST/join/CODE
    #[arg(value_name = "URL", value_parser = link)]
    link: Uri,

    /// Your name, which others see [default: volunteer, with a number]
    #[arg(long, value_name = "NAME", value_parser = Name::new)]
    name: Option<Name>,

    /// Replace the configuration of a coordinator that you joined before
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    trust: TrustArgs,
}

/// The coordinator's answer, unchecked.
#[derive(Deserialize)]
struct Answer {
    token: String,
    name: String,
    #[serde(flatten)]
    location: Location,
    waiting: bool,
}

/// The coordinator's refusal.
#[derive(Deserialize)]
struct Refusal {
    error: String,
}

/// Joins a campaign, keeps the invitation, and tells what was done.
pub(crate) fn join(args: &JoinArgs) -> anyhow::Result<Membership> {
    let dir = user_dir().context("there is no home directory to keep the invitation in: set HOME")?;
    // First, so that no invitation is made that can't be kept.
    let config = UserConfig::begin(dir, args.replace)?;
    let wanted = args.name.as_ref().map_or(NOBODY, Name::as_str);
    let trust = args.trust.trust()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let campaign = JoinedCampaign { link: args.link.clone(), trust };
    let body = json!({ "name": wanted }).to_string();
    let response = runtime.block_on(ask(&campaign, Some(&body))).context("failed to get an invitation")?;
    let membership = membership(&response, campaign)?;
    let (path, token_path) = config.keep(&membership)?;
    let given = membership.name.as_str();
    let taken =
        if args.name.is_some() && given != wanted { format!(": '{wanted}' is taken") } else { String::new() };
    let urls = urls(&membership.coordinators);
    let approval = if membership.waiting {
        "approval       the operator has to approve you first: the worker waits for that\n"
    } else {
        ""
    };
    print(&format!(
        "you are '{given}'{taken}\n{approval}\
         coordinator    {}\n\
         kept           '{}' and '{}', which only you can read\n\
         gives way      it has the lowest priority and pauses on battery; 'queens-worker pause', 'resume' and 'status'\n\
         stop, go on    Ctrl-C; 'queens-worker' alone goes on\n\
         leave          stop it, and remove both files; what you have counted stays\n\
         more machines  copy the token there: 'queens-worker --coordinator {}{} --token-file FILE --name NAME', with \
         another name",
        urls.join(", "),
        path.display(),
        token_path.display(),
        urls.join(","),
        pin_option(&membership.credentials.trust),
    ))?;
    Ok(membership)
}

fn pin_option(trust: &Trust) -> String {
    match trust {
        Trust::Public => String::new(),
        Trust::Authorities(path) => format!(" --ca {}", path.display()),
        Trust::Pinned(pins) => {
            let pins: Vec<String> = pins.iter().map(Pin::to_string).collect();
            format!(" --pin {}", pins.join(","))
        }
    }
}

/// Checks the coordinator's answer.
fn membership(response: &Response, campaign: JoinedCampaign) -> anyhow::Result<Membership> {
    if !response.status.is_success() {
        let refusal: Result<Refusal, _> = serde_json::from_slice(&response.body);
        match refusal {
            Ok(Refusal { error }) => bail!("{}", plain::line(&error)),
            Err(_) if response.status == StatusCode::NOT_FOUND => {
                bail!("what answers there is no coordinator")
            }
            Err(_) => bail!("the coordinator answered {}", response.status),
        }
    }
    let nonsense = "the coordinator sent nonsense";
    let answer: Answer = serde_json::from_slice(&response.body).context(nonsense)?;
    let token: Token = answer.token.parse().context(nonsense)?;
    let name: Name = answer.name.parse().context(nonsense)?;
    let (coordinators, pins) = answer.location.parse().context(nonsense)?;
    let trust = if pins.is_empty() { campaign.trust.clone() } else { Trust::pinned(&pins)? };
    let credentials = Credentials { trust, token: Some(token), certificate: None };
    // A coordinator to which the token would be sent in the clear is refused before anything is kept.
    Routes::new(coordinators.clone(), credentials.clone())?;
    Ok(Membership { name, coordinators, credentials, campaign, waiting: answer.waiting })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign() -> JoinedCampaign {
        let link = link("https://queens.example.org/join/0abc").expect("a link");
        JoinedCampaign { link, trust: Trust::Public }
    }

    fn response(status: u16, body: &str) -> Response {
        let status = StatusCode::from_u16(status).expect("a status");
        Response { status, location: None, body: body.to_owned().into() }
    }

    #[test]
    fn an_answer_is_believed_only_if_it_makes_sense() {
        let token = Token::random(3).expect("random");
        let pin = format!("sha256:{}", "0".repeat(64));
        let answer = |token: &str, name: &str, coordinator: &str, pin: Option<&str>| {
            let body = json!({ "token": token, "name": name, "coordinator": coordinator, "pin": pin, "waiting": false });
            membership(&response(201, &body.to_string()), campaign())
        };
        let good = answer(token.secret(), "anna", "https://a:1,https://b:2", Some(&pin)).expect("an answer");
        assert_eq!((good.name.as_str(), good.coordinators.len()), ("anna", 2));
        assert_eq!(good.credentials.trust, Trust::Pinned(vec![pin.parse().expect("a pin")]));
        let public = answer(token.secret(), "anna", "https://a:1", None).expect("an answer");
        assert_eq!(public.credentials.trust, Trust::Public);
        for (token, name, coordinator, pin) in [
            ("queens_1_0", "anna", "https://a:1", None),
            (token.secret(), "an\u{1b}na", "https://a:1", None),
            (token.secret(), "an\u{202e}na", "https://a:1", None),
            (token.secret(), "anna", "http://a:1", None),
            (token.secret(), "anna", "", None),
            (token.secret(), "anna", "https://a:1", Some("")),
            (token.secret(), "anna", "https://a:1", Some("sha256:0")),
        ] {
            assert!(answer(token, name, coordinator, pin).is_err(), "{name:?} {coordinator} {pin:?}");
        }
    }

    #[test]
    fn a_refusal_is_shown_without_control_characters() {
        let check = |status, body: &str, expected: &str| {
            let refused = membership(&response(status, body), campaign()).expect_err("refused").to_string();
            assert_eq!(refused, expected);
        };
        check(409, r#"{"error":"it is full"}"#, "it is full");
        check(409, r#"{"error":"\u001b[2J"}"#, r"\u{1b}[2J");
        check(404, "<html>", "what answers there is no coordinator");
        check(502, "", "the coordinator answered 502 Bad Gateway");
    }
}
