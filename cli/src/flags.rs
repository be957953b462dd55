//! Arguments that several commands share.

use std::ffi::OsStr;
use std::path::Path;

use clap::{Args, ValueEnum};
use queens_gpu::{CardId, ChosenCards};
use queens_model::{JobId, Priority};
use queens_program::{CONNECTION, CredentialsArgs, Output, OutputArgs};
use queens_proto::client::{Operator, Routes, endpoint};
use queens_solver::{BoardSize, Kernel, KernelChoice, Method};
use thiserror::Error;
use tonic::transport::Endpoint;

use crate::method::MethodChoice;

#[derive(Debug, Args)]
pub(crate) struct BoardArgs {
    /// Size of the board, 0 to 32
    #[arg(value_name = "N", allow_negative_numbers = true)]
    pub(crate) n: BoardSize,
}

#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    /// Kernel to count with: 'auto' for the fastest on this processor, or a name: avx512, avx2, v128, portable
    #[arg(long, env = "QUEENS_KERNEL", value_name = "KERNEL", default_value = "auto")]
    kernel: KernelChoice,
}

impl KernelArgs {
    pub(crate) fn kernel(&self) -> Kernel {
        self.kernel.kernel()
    }
}

#[derive(Debug, Args)]
pub(crate) struct GpuArgs {
    /// Graphics cards to count on, by halves and for n = 12 to 29: 'all', 'auto' for all if there are any, or names
    /// such as cuda:0,cuda:1, which 'queens gpus' lists [default: none]
    #[arg(long, env = "QUEENS_GPU", value_name = "CARDS")]
    gpu: Option<ChosenCards>,
}

impl GpuArgs {
    /// Returns the cards that count a board; none if only the processor does. With cards, `method` must not be the
    /// search.
    pub(crate) fn cards(&self, n: BoardSize, method: MethodChoice) -> Result<Vec<CardId>, WrongUsage> {
        let cards = self.gpu.as_ref().map_or(Ok(Vec::new()), ChosenCards::here);
        let cards = cards.map_err(|error| WrongUsage(error.to_string()))?;
        let is_for_search = method.named() == Some(Method::Search);
        if self.gpu.as_ref().is_some_and(ChosenCards::is_auto) && (is_for_search || !CardId::counts(n)) {
            return Ok(Vec::new());
        }
        if !cards.is_empty() && is_for_search {
            return Err(WrongUsage("cards count by halves only".to_owned()));
        }
        if !cards.is_empty() && !CardId::counts(n) {
            return Err(WrongUsage(format!("cards count n = 12 to 29, not {n}")));
        }
        Ok(cards)
    }
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct JobPriorityArgs {
    /// Priority of the job, from -1000 to 1000: higher ones go first, equal ones in the order of submission
    #[arg(
        long,
        env = "QUEENS_PRIORITY",
        value_name = "P",
        default_value = "0",
        allow_negative_numbers = true
    )]
    pub(crate) priority: Priority,
}

#[derive(Debug, Args)]
pub(crate) struct CoordinatorArgs {
    /// URL of the coordinator; for several coordinators of one database, the URLs of all, repeated or separated by
    /// commas: the leader is asked
    #[arg(long, help_heading = CONNECTION, env = "QUEENS_COORDINATOR", value_name = "URL", value_parser = endpoint, value_delimiter = ',',
          default_value = "http://127.0.0.1:50051")]
    coordinator: Vec<Endpoint>,

    #[command(flatten)]
    credentials: CredentialsArgs,
}

impl CoordinatorArgs {
    /// Returns the URLs in the form of the argument.
    pub(crate) fn urls(&self) -> String {
        urls(&self.coordinator)
    }

    /// Returns advice on how to add a worker.
    pub(crate) fn how_to_add_a_worker(&self) -> String {
        let is_encrypted = |one: &Endpoint| one.uri().scheme_str() == Some("https");
        if self.coordinator.iter().any(is_encrypted) {
            return "'queens-coordinator invite --role worker' prints a line that makes one".to_owned();
        }
        match self.coordinator.iter().all(is_in_environment) {
            true => "'queens-worker' with this QUEENS_COORDINATOR makes one, 'docker compose up --detach --scale worker=3' \
                     three in Docker Compose"
                .to_owned(),
            false => format!("'queens-worker --coordinator {}' makes one", self.urls()),
        }
    }

    pub(crate) fn routes(&self) -> anyhow::Result<Routes> {
        Ok(Routes::new(self.coordinator.clone(), self.credentials.credentials()?)?)
    }

    pub(crate) async fn connect(&self) -> anyhow::Result<Operator> {
        Ok(Operator::connect(self.routes()?).await?)
    }
}

/// Returns whether QUEENS_COORDINATOR names a coordinator. A container's one has an address that only containers know.
fn is_in_environment(coordinator: &Endpoint) -> bool {
    let named = std::env::var("QUEENS_COORDINATOR").unwrap_or_default();
    named.split(',').any(|one| endpoint(one).is_ok_and(|one| one.uri() == coordinator.uri()))
}

/// Returns the option that names a coordinator in a command; empty if the environment does.
pub(crate) fn coordinator_option(url: &str) -> String {
    match endpoint(url) {
        Ok(coordinator) if is_in_environment(&coordinator) => String::new(),
        _ => format!(" --coordinator {url}"),
    }
}

/// Formats URLs like the argument '--coordinator'.
pub(crate) fn urls(coordinators: &[Endpoint]) -> String {
    coordinators.iter().map(|one| one.uri().to_string()).collect::<Vec<_>>().join(",")
}

#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    #[command(flatten)]
    pub(crate) coordinator: CoordinatorArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl RemoteArgs {
    pub(crate) fn output(&self) -> Output {
        self.output.output
    }

    pub(crate) async fn connect(&self) -> anyhow::Result<Operator> {
        self.coordinator.connect().await
    }
}

#[derive(Debug, Args)]
pub(crate) struct JobArgs {
    /// Id of the job, as 'queens submit' and 'queens jobs' print it
    #[arg(value_name = "JOB", allow_negative_numbers = true)]
    pub(crate) job: JobId,

    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LargeFileArgs {
    /// Don't ask, even if the file has more than 20 MB
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Returns the format of a drawing: the one asked for, or that of the file's name, SVG for '-'.
pub(crate) fn format_of<F: ValueEnum>(path: &Path, asked: Option<F>, names: &str) -> anyhow::Result<F> {
    let named = match path.to_str() {
        Some("-") => Some("svg"),
        _ => path.extension().and_then(OsStr::to_str),
    };
    let format = asked.or_else(|| F::from_str(named?, true).ok());
    format.ok_or_else(|| {
        let path = path.display();
        wrong_usage(format!("unknown format for '{path}': end its name in {names}, or give --format"))
    })
}

/// The allowed widths of a square in pixels.
const TILE_PX: std::ops::RangeInclusive<u32> = 4..=400;

pub(crate) fn tile_px(text: &str) -> Result<u32, String> {
    let (least, most) = TILE_PX.into_inner();
    let size = text.parse().ok().filter(|size| TILE_PX.contains(size));
    size.ok_or_else(|| format!("expected a number of pixels from {least} to {most}"))
}

/// Arguments that do not go together. The command ends with exit status 2, as for a single wrong argument.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub(crate) struct WrongUsage(pub(crate) String);

/// Returns the error for arguments that do not go together.
pub(crate) fn wrong_usage(what: impl Into<String>) -> anyhow::Error {
    WrongUsage(what.into()).into()
}
