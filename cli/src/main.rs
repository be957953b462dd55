//! `queens`: counts n-queens placements.

mod args;
mod bench;
mod boards;
mod confirm;
mod contributions;
mod count;
mod describe;
mod estimate;
mod local;
mod output;
mod progress;
mod remote;
mod sampling;
mod top;

use std::process::ExitCode;

use queens_process::logs::log;
use queens_process::{arguments, complain};
use tracing::level_filters::LevelFilter;

use args::{Args, Command};

fn main() -> ExitCode {
    let args = match arguments::<Args>() {
        Ok(args) => args,
        Err(code) => return code,
    };
    log(LevelFilter::WARN, progress::AboveBar);
    run(args).unwrap_or_else(|error| {
        complain(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}

fn run(args: Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match args.command {
            Command::Count(args) => count::run(&args).await,
            Command::Solve(args) => boards::solve(&args),
            Command::List(args) => boards::list(&args),
            Command::Render(args) => boards::render(&args),
            Command::Animate(args) => boards::animate(&args).await,
            Command::Table(args) => boards::table(&args),
            Command::Submit(args) => remote::submit(&args).await,
            Command::Jobs(args) => remote::jobs(&args).await,
            Command::Status(args) => remote::status(&args).await,
            Command::Contributions(args) => remote::contributions(&args).await,
            Command::Watch(args) => remote::watch(&args).await,
            Command::Top(args) => top::run(&args).await,
            Command::Pause(args) => remote::pause(&args).await,
            Command::Resume(args) => remote::resume(&args).await,
            Command::Priority(args) => remote::priority(&args).await,
            Command::Cancel(args) => remote::cancel(&args).await,
            Command::Workers(args) => remote::workers(&args).await,
            Command::Bench(args) => bench::run(&args),
            Command::Estimate(args) => estimate::run(&args),
        }
    })
}
