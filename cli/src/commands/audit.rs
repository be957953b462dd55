//! `queens audit`: who has decided what.

use std::process::ExitCode;

use queens_model::Decision;
use queens_model::json::Decision as Shown;

use crate::flags::RemoteArgs;
use crate::present::numbers::date;
use crate::present::output::{Output, json_of, print};
use crate::present::table::{Column, Table};

#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    /// How many to show, the latest first
    #[arg(long, value_name = "K", default_value_t = 100)]
    limit: usize,

    /// Leave out who was not let in, and what they tried
    #[arg(long)]
    no_refusals: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Runs the command to its exit status.
pub(crate) async fn run(args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let operator = args.remote.connect().await?;
    let mut decisions: Vec<Decision> = Vec::new();
    while decisions.len() < args.limit {
        let more = operator.decisions(decisions.last().map(|last| last.number), !args.no_refusals).await?;
        if more.is_empty() {
            break;
        }
        decisions.extend(more);
    }
    decisions.truncate(args.limit);
    match args.remote.output() {
        Output::Json => print(&json_of(&decisions.iter().map(Shown::from).collect::<Vec<_>>())?)?,
        Output::Text if decisions.is_empty() => print("nothing was decided yet")?,
        Output::Text => decisions_table(&decisions).print()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn decisions_table(decisions: &[Decision]) -> Table<6> {
    let mut table = Table::new([
        Column::text("WHEN"),
        Column::name("WHO"),
        Column::text("ROLE").drop_order(2),
        Column::text("FROM").drop_order(1),
        Column::name("WHAT"),
        Column::name("OUTCOME"),
    ]);
    for it in decisions {
        let when = date(it.at_ms / 1000);
        table.add_row([&when, &it.who, &it.role, &it.peer, &it.what, &it.outcome].map(ToString::to_string));
    }
    table
}
