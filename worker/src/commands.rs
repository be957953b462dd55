//! The commands of `queens-worker`.

use clap::Subcommand;

use crate::join::JoinArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Join a campaign by its link: get an invitation, keep it, and start to count
    ///
    /// Asks the coordinator for an invitation of your own, and keeps it with the coordinator's address and the pin of its
    /// key in your configuration directory, where only you can read it. From then on 'queens-worker' alone counts. The
    /// invitation is yours: use it on all of your machines, each with a name of its own.
    Join(JoinArgs),
}
