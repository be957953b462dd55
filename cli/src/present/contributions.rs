//! Who has counted a job, as it is shown.

use queens_messages::Contribution;

use crate::present::numbers::{grouped, two_digits};
use crate::present::table::{align_right, table};

/// Contributions, for people.
pub(crate) fn contributions_table(contributions: &[Contribution]) -> String {
    let all = contributions.iter().map(|it| it.nodes).sum::<u128>().max(1) as f64;
    let mut table = table(["WORKER", "KERNEL", "SPANS", "WORK", "CORE-HOURS", "SHARE"]);
    for it in contributions {
        table.add_row([
            it.worker.to_string(),
            it.kernel.to_string(),
            it.n_spans.to_string(),
            grouped(it.nodes as f64),
            two_digits(it.time.as_secs_f64() / 3600.0),
            format!("{:.1} %", it.nodes as f64 / all * 100.0),
        ]);
    }
    align_right(&mut table, &[2, 3, 4, 5]);
    table.trim_fmt()
}
