//! The command line of `queens-worker`.

use clap::Parser;
use queens_counting::Duty;
use queens_gpu::ChosenCards;
use queens_model::{ListenAddress, Name};
use queens_platform::{VERSION, host_name, version_in_full};
use queens_program::help::Program;
use queens_program::service::{ConfigArgs, LogArgs};
use queens_program::{CONNECTION, CredentialsArgs, threads_beside_cards};
use queens_proto::client::endpoint;
use queens_solver::{Kernel, KernelChoice};
use tonic::transport::Endpoint;

use crate::campaign_link::CampaignArgs;
use crate::commands::Command;
use crate::manners::MannersArgs;

/// Counts for a coordinator until told to stop.
///
/// On Ctrl-C or SIGTERM it reports its counts and leaves; a second signal ends it at once. Without a connection, it
/// goes on counting its leases, and retries until it succeeds. Logs go to stderr; the environment variable QUEENS_LOG
/// sets their level (warn, info, debug).
///
/// After 'queens-worker join', the options in the user's file queens/worker.toml (in ~/.config, on macOS in
/// ~/Library/Application Support, on Windows in %APPDATA%) hold, unless another file, a coordinator, a token, or any
/// other option for the connection is given. Given options and environment variables beat those in the file.
#[derive(Debug, Parser)]
#[command(name = "queens-worker", version = VERSION, long_version = version_in_full(&Kernel::list()), max_term_width = 100, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// URL of the coordinator; for several coordinators of one database, the URLs of all, repeated or separated by
    /// commas: the worker finds the leader
    #[arg(long, help_heading = CONNECTION, env = "QUEENS_COORDINATOR", value_name = "URL", value_parser = endpoint, value_delimiter = ',',
          default_value = "http://127.0.0.1:50051")]
    pub(crate) coordinator: Vec<Endpoint>,

    #[command(flatten)]
    pub(crate) credentials: CredentialsArgs,

    #[command(flatten)]
    pub(crate) campaign: CampaignArgs,

    /// Counting threads; 0 leaves all counting to the cards of --gpu [default: one for each processor that no card
    /// needs]
    #[arg(long, env = "QUEENS_THREADS", value_name = "T", value_parser = threads_beside_cards,
          allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,

    /// Kernel to count with: 'auto' for the fastest on this processor, or a name: avx512, avx2, v128, portable
    #[arg(long, env = "QUEENS_KERNEL", value_name = "KERNEL", default_value = "auto")]
    pub(crate) kernel: KernelChoice,

    /// Count on graphics cards too: 'all', 'auto' for all if there are any, or names such as cuda:0,cuda:1, which
    /// 'queens gpus' lists. A card is a worker of its own, called NAME-cuda:0 [default: none]
    #[arg(long, env = "QUEENS_GPU", value_name = "CARDS")]
    pub(crate) gpu: Option<ChosenCards>,

    /// Percent of its time that each thread counts; it pauses for the rest
    #[arg(long, env = "QUEENS_CPU", value_name = "PERCENT", default_value = "100", value_parser = duty)]
    pub(crate) cpu: Duty,

    /// Name of this worker [default: the machine's name]
    #[arg(long, env = "QUEENS_NAME", value_name = "NAME", value_parser = Name::new)]
    pub(crate) name: Option<Name>,

    /// Address and port to serve /metrics and /healthz on, such as 127.0.0.1:8081 [default: none]
    #[arg(long, env = "QUEENS_WORKER_HTTP", value_name = "ADDRESS")]
    pub(crate) http: Option<ListenAddress>,

    #[command(flatten)]
    pub(crate) manners: MannersArgs,

    #[command(flatten)]
    pub(crate) log: LogArgs,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

impl Program for Args {
    const EXAMPLES: &'static str = "\
queens-worker  # for the coordinator on this machine
queens-worker --coordinator https://host:50051 --ca ca.pem  # for another
queens-worker --threads 4 --cpu 50  # on four processors, half of the time
queens-worker --gpu all  # on the graphics cards and the processor
queens-worker --nice --schedule 'Mon-Fri 19:00-07:00, Sat-Sun'  # at night

queens-worker join https://host/join/0123456789abcdefghjkmnpqrs  # once
queens-worker join https://host/join/0123 --name anna  # by a name

queens-worker pause  # give the machine back to its user
queens-worker resume  # count again
queens-worker status  # what it does, or why it does not count
queens-worker status --name rack2 --output json  # of one of several
queens-worker stop  # report its counts and end

queens-worker install  # start it when you log in, and now
queens-worker install --print  # show the file for that
queens-worker uninstall  # stop it, and remove that file";
}

/// Parses a percentage, with or without its sign.
fn duty(text: &str) -> Result<Duty, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse().ok().and_then(Duty::percent);
    percent.ok_or_else(|| "expected a percentage from 1 to 100".to_owned())
}

/// Returns the machine's name, if it is a valid worker name.
pub(crate) fn machine_name() -> Name {
    host_name().and_then(|name| Name::new(&name).ok()).unwrap_or_else(|| Name::of_any("worker"))
}

#[cfg(test)]
mod tests {
    use queens_program::tests::faults;

    use super::*;

    #[test]
    fn its_examples_are_taken() {
        assert_eq!(faults::<Args>(), [""; 0]);
    }
}
