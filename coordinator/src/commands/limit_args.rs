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

    /// Maximal connections without a request, for each address and port [default: half of the port's, at most 1024]
    #[arg(long, env = "QUEENS_MAX_WAITING", value_name = "NUMBER")]
    max_waiting: Option<NonZeroUsize>,

    /// Maximal concurrent TLS handshakes of a port; one address gets a quarter [default: half of the port's
    /// connections, at most 1024]
    #[arg(long, env = "QUEENS_MAX_HANDSHAKES", value_name = "NUMBER")]
    max_handshakes: Option<NonZeroUsize>,

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
        ConnectionLimits {
            connections: self.max_connections,
            waiting: self.max_waiting,
            handshakes: self.max_handshakes,
        }
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
