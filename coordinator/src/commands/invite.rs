//! The commands that create, list and revoke invitations.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use queens_auth::{Invitation, InvitationError, Pin, Proof, Role, TlsError};
use queens_model::{CoordinatorUrl, Name, Party};
use queens_platform::new_private_file;
use queens_program::{print, say};
use queens_store::postgres::StoreLocation;
use queens_store::unix_ms;

use super::store::StoreArgs;
use crate::access::{InvitationStore, InvitationStoreError, NewInvitation, PublishedAddress};

/// Options for the location of the invitation store.
#[derive(Debug, Args)]
pub(crate) struct InvitationStoreArgs {
    /// Data directory of the coordinator
    #[arg(long, env = "QUEENS_DATA_DIR", value_name = "DIR", default_value = "queens-data")]
    data_dir: PathBuf,

    #[command(flatten)]
    store: StoreArgs,
}

impl InvitationStoreArgs {
    pub(crate) fn open(&self) -> anyhow::Result<InvitationStore> {
        Ok(InvitationStore::open_existing(&self.location()?)?)
    }

    pub(crate) fn location(&self) -> anyhow::Result<StoreLocation> {
        self.store.location(&self.data_dir)
    }

    pub(crate) fn open_if_there(&self) -> anyhow::Result<Option<InvitationStore>> {
        match InvitationStore::open_existing(&self.location()?) {
            Err(InvitationStoreError::Absent(_)) => Ok(None),
            opened => Ok(Some(opened?)),
        }
    }

    /// Opens or creates the store; returns the published addresses too.
    fn make(&self) -> anyhow::Result<(InvitationStore, Vec<PublishedAddress>)> {
        let mut store = InvitationStore::open(&self.location()?)?;
        let places = store.places()?;
        Ok((store, places))
    }
}

/// Maximal worker names of one invitation.
pub(crate) const MOST_NAMES: u32 = 100_000;

#[derive(Debug, Args)]
pub(crate) struct InviteArgs {
    /// Role: 'worker' counts only, 'viewer' reads, 'operator' reads and manages jobs and workers
    #[arg(long, value_name = "ROLE")]
    role: Role,

    /// Name of the invited user; a worker must use it as its name, and nobody else can
    #[arg(long, value_name = "NAME", value_parser = Name::new)]
    name: Option<Name>,

    /// Create the invitation store before the first start of a coordinator
    ///
    /// Without this, a directory or database that no coordinator has used is an error, since the invitation would be
    /// useless. The printed line contains neither the address of the coordinator nor the pin of its key: both are not
    /// known yet.
    #[arg(long)]
    new: bool,

    /// Lifetime of the invitation, such as 30d, 12h or 90m [default: until it is revoked]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires: Option<Duration>,

    /// How many worker names may use the token; each name is bound to it for good at its first use
    ///
    /// All names of one invitation are one party: they don't confirm each other's counts, and are blocked together when
    /// one of them reports a wrong count. Give each person an invitation of their own.
    #[arg(long, value_name = "K", default_value_t = 1, conflicts_with = "name",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_NAMES)))]
    uses: u32,

    /// URL of the coordinator for the invited user [default: the published one]
    #[arg(long, value_name = "URL")]
    url: Option<CoordinatorUrl>,

    /// Write the token to a new file that only you can read, instead of printing it
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// TLS certificate (PEM) of the invited user, whose key replaces the token
    ///
    /// Its issuer and its expiry are ignored: the invitation decides. The web pages accept tokens only.
    #[arg(long, value_name = "FILE", conflicts_with = "token_file")]
    certificate: Option<PathBuf>,

    #[command(flatten)]
    store: InvitationStoreArgs,
}

/// How long to wait for a coordinator that has just started, and how often to check.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// Creates an invitation, and prints the command for its user.
pub(crate) fn invite(args: &InviteArgs) -> anyhow::Result<()> {
    if args.role != Role::Worker && args.uses != 1 {
        bail!("--uses is about names of workers: a token of {} is one person's", args.role.one());
    }
    let key =
        args.certificate.as_deref().map(|path| Ok::<_, TlsError>((path, Pin::of_file(path)?))).transpose()?;
    let (mut store, places) = if args.new { args.store.make()? } else { wait_for_places(&args.store)? };
    if args.url.is_none() && places.iter().all(|place| place.url.is_none()) {
        say(
            "HOST is where others reach the coordinator: it does not know that itself, unless --url tells it",
        );
    }
    let now_ms = unix_ms();
    let wanted = NewInvitation {
        role: args.role,
        label: args.name.clone(),
        expires_ms: args.expires.map(|lasts| now_ms.saturating_add(milliseconds(lasts))),
        n_names: args.uses,
    };
    if let Some((path, pin)) = key {
        let number = store.invite_key(&wanted, pin, now_ms)?;
        say(&format!(
            "invitation {number} is for {}, who has the key of '{}':",
            describe(args),
            path.display()
        ));
        let key = path.with_extension("key");
        let shown = format!(" --client-cert '{}' --client-key '{}'", path.display(), key.display());
        return print(command_line(args, &places, &shown).trim_start()).context("failed to print the line");
    }
    // The file first: no invitation must be created whose token can't be stored.
    let file = args.token_file.as_deref().map(|path| {
        let made = new_private_file(path).with_context(|| format!("failed to make '{}'", path.display()));
        made.map(|file| (path, file))
    });
    let file = file.transpose()?;
    let token = store.invite(&wanted, now_ms)?;
    let line = match &file {
        Some((path, _)) => command_line(args, &places, &format!(" --token-file '{}'", path.display())),
        None => format!(" QUEENS_TOKEN={}{}", token.secret(), command_line(args, &places, "")),
    };
    if let Some((path, mut file)) = file {
        let written = writeln!(file, "{}", token.secret()).and_then(|()| file.sync_all());
        written.with_context(|| format!("failed to write '{}'", path.display()))?;
    }
    let number = token.invitation();
    if args.role == Role::Worker && args.uses > 1 {
        say(&format!(
            "its {} names count as one party: they don't confirm each other, so give it to one person, and invite others \
             by invitations of their own",
            args.uses
        ));
    }
    say(&format!(
        "invitation {number} is for {}; the token is not kept and not shown again:",
        describe(args)
    ));
    print(&line).context("failed to print the token")
}

/// Opens the store, and waits until a coordinator has published its address. An existing directory may belong to a
/// coordinator that is starting.
pub(crate) fn wait_for_places(
    args: &InvitationStoreArgs,
) -> anyhow::Result<(InvitationStore, Vec<PublishedAddress>)> {
    let location = args.store.location(&args.data_dir)?;
    let began = Instant::now();
    let mut is_waiting = false;
    loop {
        let is_over = began.elapsed() >= PATIENCE;
        match InvitationStore::open_existing(&location).and_then(|mut store| Ok((store.places()?, store))) {
            Ok((places, store)) if !places.is_empty() => return Ok((store, places)),
            Ok(_) if is_over => bail!(
                "there are no invitations: in {} s no coordinator has noted where it is reached. Start one that lets in only who \
                 is invited, by --tls-cert and --tls-key or --require-tokens; --new invites before that",
                PATIENCE.as_secs()
            ),
            Err(InvitationStoreError::Absent(dir)) if dir.is_dir() && !is_over => {}
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        if !is_waiting {
            is_waiting = true;
            say("waiting for a coordinator to note where it is reached");
        }
        thread::sleep(PAUSE);
    }
}

fn describe(args: &InviteArgs) -> String {
    match (args.role, &args.name) {
        (role, Some(name)) => format!("the {role} '{name}'"),
        (Role::Worker, None) if args.uses > 1 => format!("{} workers", args.uses),
        (role, None) => role.one().to_owned(),
    }
}

/// Returns the command that connects a new machine. It begins with a space: with HISTCONTROL, shells keep such lines
/// out of their history.
fn command_line(args: &InviteArgs, places: &[PublishedAddress], shown: &str) -> String {
    let told = args.url.as_ref().map(|url| url.as_str().to_owned());
    let mut urls: Vec<String> =
        told.map_or_else(|| places.iter().filter_map(|place| place.url.clone()).collect(), |url| vec![url]);
    if urls.is_empty() {
        urls.push("https://HOST:50051".to_owned());
    }
    // The pin of an encrypting proxy is not known.
    let is_encrypted = urls.iter().any(|url| url.starts_with("https://"));
    let pins = PublishedAddress::pins(places).filter(|_| is_encrypted);
    let pin = pins.map(|pins| format!(" --pin {pins}")).unwrap_or_default();
    let url = urls.join(",");
    let (program, name) = match (args.role, &args.name) {
        (Role::Worker, Some(name)) => {
            ("queens-worker", format!(" --name '{}'", name.as_str().replace('\'', "'\\''")))
        }
        (Role::Worker, None) => ("queens-worker", String::new()),
        (Role::Viewer | Role::Operator, _) => ("queens jobs", String::new()),
    };
    format!(" {program} --coordinator {url}{pin}{shown}{name}")
}

pub(crate) fn invitations(mut store: InvitationStore) -> anyhow::Result<()> {
    let all = store.invitations()?;
    if all.is_empty() {
        return print("there are no invitations");
    }
    let mut names: HashMap<Party, BTreeSet<Name>> = HashMap::new();
    for (name, party) in store.names()? {
        names.entry(party).or_default().insert(name);
    }
    let now_ms = unix_ms();
    let line = |one: &Invitation| line_of(one, &names.remove(&one.party).unwrap_or_default(), now_ms);
    all.iter().map(line).try_for_each(|line| print(&line))
}

fn line_of(invitation: &Invitation, names: &BTreeSet<Name>, now_ms: u64) -> String {
    let Invitation { number, role, label, expires_ms, n_names, proof, .. } = invitation;
    let key = match proof {
        Proof::Key(pin) => format!("  key {pin}"),
        Proof::Token(_) => String::new(),
    };
    // Strangers choose their names: a quote in one does not end it.
    let quoted = |name: &Name| format!("'{}'", name.as_str().replace('\'', "\\'"));
    let label = label.as_ref().map(|label| format!("  {}", quoted(label))).unwrap_or_default();
    let state = match (invitation.is_open(now_ms), expires_ms) {
        (Err(InvitationError::Revoked), _) => "revoked".to_owned(),
        (Err(InvitationError::Waiting), _) => "waits for 'approve'".to_owned(),
        (Err(_), _) => "expired".to_owned(),
        (Ok(()), Some(end)) => open_for(end.saturating_sub(now_ms)),
        (Ok(()), None) => "open".to_owned(),
    };
    let names = match role {
        Role::Worker if names.is_empty() => format!("  0 of {n_names} names"),
        Role::Worker => {
            let list: Vec<_> = names.iter().map(quoted).collect();
            format!("  {} of {n_names} names: {}", names.len(), list.join(", "))
        }
        Role::Viewer | Role::Operator => String::new(),
    };
    format!("{number}  {role}  {state}{label}{key}{names}")
}

/// Says for how long an invitation or a campaign is open: "open for 12 h", "open for 90 days".
pub(crate) fn open_for(left_ms: u64) -> String {
    match left_ms.div_ceil(3_600_000) {
        hours @ ..=48 => format!("open for {hours} h"),
        hours => format!("open for {} days", hours.div_ceil(24)),
    }
}

pub(crate) fn approve(numbers: &[u64], mut store: InvitationStore) -> anyhow::Result<()> {
    let now_ms = unix_ms();
    for before in store.approve(numbers)? {
        let number = before.number;
        let how = match before.is_open(now_ms) {
            Err(InvitationError::Waiting) => "is approved: its worker connects within half a minute",
            Ok(()) => "did not wait to be approved",
            Err(InvitationError::Revoked) => "stays revoked: the person has to join again",
            Err(_) => "stays expired",
        };
        print(&format!("invitation {number} {how}"))?;
    }
    Ok(())
}

pub(crate) fn revoke(number: Option<u64>, mut store: InvitationStore) -> anyhow::Result<()> {
    let Some(number) = number else { return revoke_all(&mut store) };
    store.revoke(number)?;
    print(&format!("invitation {number} is revoked: its users are disconnected within seconds"))
}

/// Revokes all invitations and lists them, and closes all campaigns. After a restore, invitations that are newer than
/// the copy are missing.
pub(crate) fn revoke_all(store: &mut InvitationStore) -> anyhow::Result<()> {
    let ended = store.revoke_all(unix_ms())?;
    let line = |it: &Invitation| print(&format!("{it} of {} is revoked", it.role.one()));
    ended.iter().try_for_each(line)?;
    let n = ended.len();
    let invitations = if n == 1 { "invitation is" } else { "invitations are" };
    say(&format!(
        "{n} {invitations} revoked, which is all of them: their users are disconnected within seconds. All campaigns are closed. If this is a copy, invitations made after it are not in it, and their tokens are refused"
    ));
    Ok(())
}

pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Parses a duration such as 30d.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.char_indices().next_back().and_then(|(at, unit)| {
        let unit = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86400,
            _ => return None,
        };
        text[..at].parse::<u32>().ok().map(|number| u64::from(number) * unit)
    });
    let time = seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs);
    time.ok_or_else(|| "expected a number and s, m, h or d, such as 30d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_a_unit() {
        for (text, seconds) in [("30d", 2_592_000), ("12h", 43_200), ("90m", 5400), ("1s", 1)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        for text in ["", "d", "0d", "-1d", "1", "1w", "1é", "99999999999d", "1 d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
