//! Options that limit connections and requests, and the report interval.

use std::num::{NonZeroU32, NonZeroUsize};

use clap::Args;
use queens_ledger::Reporting;
use queens_model::{InvalidReportInterval, ReportInterval};

use crate::access::QuotaLimits;
use crate::commands::invite::duration;
use crate::net::ConnectionLimits;

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Maximal concurrent connections, including those to the pages [default: by the limit of open files]
    #[arg(long, env = "QUEENS_MAX_CONNECTIONS", value_name = "NUMBER")]
    max_connections: Option<NonZeroUsize>,

    /// Maximal concurrent connections of one address, for each port; trusted proxies have no such limit [default: half
    /// of the port's]
    #[arg(long, env = "QUEENS_MAX_CONNECTIONS_OF_ADDRESS", value_name = "NUMBER")]
    max_connections_of_address: Option<NonZeroUsize>,

    /// Maximal concurrent requests of one invitation, without workers' sessions
    #[arg(long, env = "QUEENS_MAX_REQUESTS", value_name = "NUMBER", default_value_t = QuotaLimits::default().n_requests)]
    max_requests: NonZeroUsize,

    /// Maximal jobs that one invitation may submit per minute
    #[arg(long, env = "QUEENS_MAX_SUBMISSIONS", value_name = "NUMBER", default_value_t = QuotaLimits::default().n_submissions)]
    max_submissions: NonZeroU32,

    /// Longest interval between reports of a worker, which is the work that its crash may lose; few workers report
    /// every second
    #[arg(long, env = "QUEENS_MAX_REPORT_INTERVAL", value_name = "TIME", default_value = "30s", value_parser = report_interval)]
    max_report_interval: ReportInterval,
}

impl LimitArgs {
    pub(crate) fn connections(&self) -> ConnectionLimits {
        ConnectionLimits { connections: self.max_connections, of_address: self.max_connections_of_address }
    }

    pub(crate) fn quota(&self) -> QuotaLimits {
        QuotaLimits { n_requests: self.max_requests, n_submissions: self.max_submissions }
    }

    pub(crate) fn reporting(&self) -> Reporting {
        Reporting { longest: self.max_report_interval, ..Reporting::default() }
    }
}

fn report_interval(text: &str) -> Result<ReportInterval, String> {
    duration(text)?.try_into().map_err(|error: InvalidReportInterval| error.to_string())
}
