//! `queens audit`: shows the audit log.

use queens_model::{AuditEntry, date};

use crate::flags::RemoteArgs;
use crate::present::table::table;

#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    /// Number of entries, the latest first
    #[arg(long, value_name = "K", default_value_t = 100)]
    limit: usize,

    /// Leave out refused requests and failed authentications
    #[arg(long)]
    no_refusals: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Runs the command.
pub(crate) async fn run(args: &AuditArgs) -> anyhow::Result<()> {
    let operator = args.remote.connect().await?;
    let mut audit_entries: Vec<AuditEntry> = Vec::new();
    while audit_entries.len() < args.limit {
        let more =
            operator.audit_entries(audit_entries.last().map(|last| last.number), !args.no_refusals).await?;
        if more.is_empty() {
            break;
        }
        audit_entries.extend(more);
    }
    audit_entries.truncate(args.limit);
    args.remote.output().print(&audit_entries, || match audit_entries.is_empty() {
        true => "the audit log is empty".to_owned(),
        false => audit_table(&audit_entries),
    })
}

fn audit_table(audit_entries: &[AuditEntry]) -> String {
    let row = |it: &AuditEntry| {
        let when = date(it.at_ms / 1000);
        [&when, &it.who, &it.role, &it.peer, &it.what, &it.outcome].map(ToString::to_string)
    };
    table(["WHEN", "WHO", "ROLE", "FROM", "WHAT", "OUTCOME"], audit_entries.iter().map(row))
}
