//! `queens`: the command-line program that counts n-queens placements and manages a cluster.

mod args;
mod boards;
mod commands;
mod confirm;
mod connect;
mod counting;
mod examples;
mod flags;
mod keys;
mod method;
mod present;
mod sampling;
mod terms;
mod time_limit;
mod top;

use std::process::ExitCode;

use clap::CommandFactory;
use queens_program::logs::log;
use queens_program::{arguments, complain, end_if_signalled, wrong_usage};
use queens_proto::client::JobChange;
use queens_proto::pb::Empty;
use tracing::level_filters::LevelFilter;

use crate::args::{Args, Command};
use crate::commands::change_job;
use crate::flags::WrongUsage;
use crate::present::progress::AboveBar;

fn main() -> ExitCode {
    let args = match arguments::<Args>() {
        Ok(args) => args,
        Err(code) => return code,
    };
    log(LevelFilter::WARN, AboveBar);
    let status = run(args).unwrap_or_else(|error| match error.downcast_ref() {
        Some(WrongUsage(what)) => wrong_usage::<Args>(what),
        None => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    });
    end_if_signalled();
    status
}

fn run(args: Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match args.command {
            Command::Count(args) => return commands::count::run(&args).await,
            Command::Solve(args) => return commands::solve::run(&args),
            Command::Render(args) => return commands::render::run(&args),
            Command::Animate(args) => return commands::animate::run(&args).await,
            Command::Submit(args) => return commands::submit::run(&args).await,
            Command::Watch(args) => return commands::watch::run(&args).await,
            Command::Table(args) => return commands::table::run(&args),
            Command::Bench(args) => return commands::bench::run(&args),
            Command::Doctor(args) => return commands::doctor::run(&args).await,
            Command::List(args) => commands::list::run(&args)?,
            Command::Gpus(args) => commands::gpus::run(&args)?,
            Command::Jobs(args) => commands::jobs::run(&args).await?,
            Command::Status(args) => commands::jobs::status(&args).await?,
            Command::Verdicts(args) => commands::verdicts::run(&args).await?,
            Command::Contributions(args) => commands::contributions::run(&args).await?,
            Command::Top(args) => commands::top::run(&args).await?,
            Command::Pause(args) => change_job::change(&args, JobChange::Pause(Empty {})).await?,
            Command::Resume(args) => change_job::change(&args, JobChange::Resume(Empty {})).await?,
            Command::Priority(args) => {
                change_job::change(&args.of, JobChange::Priority(args.value.priority.get())).await?;
            }
            Command::VerifyMore(args) => return change_job::verify_more(&args).await,
            Command::Cancel(args) => return change_job::cancel(&args).await,
            Command::Workers(args) => commands::workers::run(&args).await?,
            Command::Audit(args) => commands::audit::run(&args).await?,
            Command::Export(args) => commands::export::run(&args).await?,
            Command::Merge(args) => commands::merge::run(&args)?,
            Command::Check(args) => commands::check::run(&args)?,
            Command::Estimate(args) => commands::estimate::run(&args)?,
            Command::Completions(args) => commands::completions::run(&args, Args::command())?,
        }
        Ok(ExitCode::SUCCESS)
    })
}
