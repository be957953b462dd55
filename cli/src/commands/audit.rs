//! `queens audit`: shows the audit log.

use std::process::ExitCode;

use queens_model::{AuditEntry, date};
use queens_program::print;

use crate::flags::RemoteArgs;
use crate::present::output::{Output, json_of};
use crate::present::table::{Column, Table};

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

/// Runs the command and returns its exit status.
pub(crate) async fn run(args: &AuditArgs) -> anyhow::Result<ExitCode> {
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
    match args.remote.output() {
        Output::Json => print(&json_of(&audit_entries)?)?,
        Output::Text if audit_entries.is_empty() => print("the audit log is empty")?,
        Output::Text => audit_table(&audit_entries).print()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn audit_table(audit_entries: &[AuditEntry]) -> Table<6> {
    let mut table = Table::new([
        Column::text("WHEN"),
        Column::name("WHO"),
        Column::text("ROLE").drop_order(2),
        Column::text("FROM").drop_order(1),
        Column::name("WHAT"),
        Column::name("OUTCOME"),
    ]);
    for it in audit_entries {
        let when = date(it.at_ms / 1000);
        table.add_row([&when, &it.who, &it.role, &it.peer, &it.what, &it.outcome].map(ToString::to_string));
    }
    table
}
