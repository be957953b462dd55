//! The answer of `queens count`, as text and JSON.

use anyhow::Context;
use queens_solver::{BoardSize, Method, fundamental, published};
use serde::Serialize;

use crate::counting::counted::{Counted, Counter};
use crate::present::work::{method_name, work_text};
use queens_model::{date, plural, rfc3339};

/// The answer in JSON. Scripts rely on its fields.
#[derive(Debug, Serialize)]
pub(crate) struct CountAnswer {
    n: u8,
    #[serde(serialize_with = "method_name")]
    method: Method,
    solutions: String,
    fundamental: String,
    work: String,
    seconds: f64,
    /// The threads of this process; `None` for a cluster, whose number of threads is unknown.
    threads: Option<usize>,
    kernel: String,
    published: Option<String>,
    pub(crate) agrees: bool,
    /// The work of this run. Earlier runs may have done the rest of a data directory's work.
    counted_now: String,
    /// When the count began, perhaps in an earlier run.
    begun_at: String,
    #[serde(skip)]
    begun: String,
    /// The contributors, as stored in the data directory or reported by the cluster.
    counted_by: Vec<Counter>,
}

impl CountAnswer {
    /// Creates the answer. A half turn leaves `half` solutions unchanged, a quarter turn `quarter`.
    pub(crate) fn new(n: BoardSize, counted: Counted, (half, quarter): (u64, u64)) -> anyhow::Result<Self> {
        let Counted { job, n_threads, kernel, counted_now, counted_by } = counted;
        let solutions = job.progress.solutions;
        let fundamental = fundamental(n, solutions, half, quarter)
            .context("the number of solutions contradicts those of symmetric solutions")?;
        let published = published(n);
        Ok(Self {
            n: n.get(),
            method: job.method,
            solutions: solutions.to_string(),
            fundamental: fundamental.to_string(),
            work: job.progress.work.to_string(),
            // The store keeps whole milliseconds.
            seconds: job.active.as_millis() as f64 / 1000.0,
            threads: n_threads,
            kernel,
            published: published.map(|counts| counts.solutions.to_string()),
            agrees: published
                .is_none_or(|counts| (counts.solutions, counts.fundamental) == (solutions, fundamental)),
            counted_now: counted_now.to_string(),
            begun_at: rfc3339(job.created_ms),
            begun: date(job.created_ms / 1000),
            counted_by,
        })
    }

    /// Formats the answer for people.
    pub(crate) fn text(&self) -> String {
        let CountAnswer { n, method, solutions, fundamental, work, published, agrees, .. } = self;
        let published = match published {
            Some(_) if *agrees => "agrees with the published count".to_owned(),
            Some(published) => format!("CONTRADICTS the published count {published}"),
            None => "no count has been published to compare with".to_owned(),
        };
        format!(
            "Q({n}) = {}, {fundamental} of them fundamental\n{published}\n{}{}",
            plural(solutions, "solution"),
            work_text(*method, work),
            self.how_counted()
        )
    }

    /// Describes what follows the work: the time and what counted, if they were measured.
    fn how_counted(&self) -> String {
        let CountAnswer { seconds, threads, kernel, work, counted_now, begun, .. } = self;
        let by = counters(&self.counted_by);
        match threads {
            None => return format!(" in {seconds:.3} s{by}"),
            Some(threads @ 1..) if counted_now == work => {
                return format!(" in {seconds:.3} s on {}, {kernel} kernel", plural(threads, "thread"));
            }
            Some(_) => {}
        }
        let now = match counted_now.as_str() {
            "0" => "nothing was counted now".to_owned(),
            now => format!("{now} of them counted now"),
        };
        format!(", counted in {seconds:.3} s{by}\nbegun {begun}; {now}")
    }
}

/// Lists the contributors: " by anna (avx2 kernel), bert (portable kernel)"; empty if none is known.
fn counters(counted_by: &[Counter]) -> String {
    const MOST_NAMED: usize = 3;
    let name = |Counter { worker, kernel, build, .. }: &Counter| {
        let build = build.as_ref().map(|build| format!(", version {build}")).unwrap_or_default();
        format!("{worker} ({kernel} kernel{build})")
    };
    let mut names: Vec<String> = counted_by.iter().take(MOST_NAMED).map(name).collect();
    match counted_by.len().saturating_sub(MOST_NAMED) {
        0 => {}
        n_others => names.push(format!("and {}", plural(n_others, "other"))),
    }
    if names.is_empty() { String::new() } else { format!(" by {}", names.join(", ")) }
}
