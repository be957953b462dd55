//! How much of a coordinator others may take.

use std::num::{NonZeroU32, NonZeroUsize};

use clap::Args;
use queens_coordinator::auth::QuotaLimits;
use queens_coordinator::connections::Most;
use queens_ledger::Reporting;
use queens_model::{InvalidReportInterval, ReportInterval};

use crate::commands::invite::duration;

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Connections at the same time, those to the pages included [default: what the limit of open files allows]
    #[arg(long, env = "QUEENS_MAX_CONNECTIONS", value_name = "NUMBER")]
    max_connections: Option<NonZeroUsize>,

    /// Connections to a port from one address that wait for something to be asked [default: half of the port's, at most
    /// 1024]
    #[arg(long, env = "QUEENS_MAX_WAITING", value_name = "NUMBER")]
    max_waiting: Option<NonZeroUsize>,

    /// TLS handshakes at the same time on a port, a quarter of them from one address [default: half of the port's
    /// connections, at most 1024]
    #[arg(long, env = "QUEENS_MAX_HANDSHAKES", value_name = "NUMBER")]
    max_handshakes: Option<NonZeroUsize>,

    /// Requests with one invitation that are answered at the same time, sessions of workers aside
    #[arg(long, env = "QUEENS_MAX_REQUESTS", value_name = "NUMBER", default_value_t = QuotaLimits::default().n_requests)]
    max_requests: NonZeroUsize,

    /// Jobs that may be submitted with one invitation in a minute
    #[arg(long, env = "QUEENS_MAX_SUBMISSIONS", value_name = "NUMBER", default_value_t = QuotaLimits::default().n_submissions)]
    max_submissions: NonZeroU32,

    /// Longest time that a worker counts without reporting, which is what a crash of it may lose; with few workers it is
    /// a second
    #[arg(long, env = "QUEENS_MAX_REPORT_INTERVAL", value_name = "TIME", default_value = "30s", value_parser = report_interval)]
    max_report_interval: ReportInterval,
}

impl LimitArgs {
    /// The connections to the ports.
    pub(crate) fn connections(&self) -> Most {
        Most { connections: self.max_connections, waiting: self.max_waiting, handshakes: self.max_handshakes }
    }

    /// What one person may do.
    pub(crate) fn quota(&self) -> QuotaLimits {
        QuotaLimits { n_requests: self.max_requests, n_submissions: self.max_submissions }
    }

    /// How often workers report.
    pub(crate) fn reporting(&self) -> Reporting {
        Reporting { longest: self.max_report_interval, ..Reporting::default() }
    }
}

fn report_interval(text: &str) -> Result<ReportInterval, String> {
    duration(text)?.try_into().map_err(|error: InvalidReportInterval| error.to_string())
}
