//! What `queens bench` measured, as text and as JSON.

use queens_platform::{VERSION, processor_name};
use queens_solver::Method;
use serde::Serialize;

use crate::present::work::{method_name, work_text};
use crate::sampling::samples_of;
use queens_model::{plural, rough_time};

/// The answer in JSON. Scripts rely on its fields.
#[derive(Debug, Serialize)]
pub(crate) struct BenchAnswer {
    pub(crate) n: u8,
    #[serde(serialize_with = "method_name")]
    pub(crate) method: Method,
    /// The kernel's name, or the card's.
    pub(crate) kernel: String,
    pub(crate) threads: usize,
    pub(crate) sample: usize,
    pub(crate) parts: usize,
    /// The weighted sum Σ weight × solutions over the sample.
    pub(crate) solutions: String,
    pub(crate) work: String,
    pub(crate) seconds: f64,
    pub(crate) core_seconds: f64,
    pub(crate) ns_per_solution: Option<f64>,
    pub(crate) ns_per_node: Option<f64>,
    /// Where the system counts them.
    pub(crate) instructions_per_node: Option<f64>,
    pub(crate) projected_core_seconds: f64,
    /// Twice the standard error of the projection, relative to the projection.
    pub(crate) projected_error: f64,
    pub(crate) checked_against: String,
    pub(crate) agrees: bool,
    /// The seconds that each of a card's kernels took, where its driver tells.
    pub(crate) stages: Vec<StageTime>,
    #[serde(skip)]
    pub(crate) is_by_card: bool,
}

/// The time of a card's kernel, in all threads of the card.
#[derive(Debug, Serialize)]
pub(crate) struct StageTime {
    pub(crate) stage: &'static str,
    pub(crate) seconds: f64,
}

/// Describes one answer.
pub(crate) fn text(answer: &BenchAnswer) -> String {
    let BenchAnswer { n, method, kernel, sample, parts, solutions, work, seconds, .. } = answer;
    let checked_against = &answer.checked_against;
    let threads = plural(answer.threads, "thread");
    let per = |ns: Option<f64>, what| ns.map(|ns| format!(", {ns:.3} ns per {what}")).unwrap_or_default();
    let (per_solution, per_unit) =
        (per(answer.ns_per_solution, "solution"), per(answer.ns_per_node, method.unit()));
    let work = work_text(*method, work);
    let error = answer.projected_error * 100.0;
    let verdict = if answer.agrees { "agrees with" } else { "CONTRADICTS" };
    let (measured, core) = if answer.is_by_card {
        (format!("{}, {kernel}", plural(sample, "chunk")), "card-")
    } else {
        (format!("{sample} of {parts} {}, {kernel} kernel", samples_of(*method)), "core-")
    };
    let projected = rough_time(answer.projected_core_seconds, core);
    format!(
        "n = {n}, {measured} on {threads}\n\
         {solutions} weighted solutions, {work} in {seconds:.3} s{per_solution}{per_unit}\n\
         {verdict} {checked_against}\n\
         whole board: {projected} ± {error:.0} %{}",
        shares(&answer.stages)
    )
}

/// Describes the share of each kernel that takes a hundredth of the time, the longest first.
fn shares(stages: &[StageTime]) -> String {
    let total: f64 = stages.iter().map(|stage| stage.seconds).sum();
    let mut shares: Vec<(f64, &str)> =
        stages.iter().map(|StageTime { stage, seconds }| (100.0 * seconds / total, *stage)).collect();
    shares.retain(|(share, _)| *share >= 1.0);
    shares.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let shares: Vec<String> = shares.iter().map(|(share, stage)| format!("{stage} {share:.0} %")).collect();
    if shares.is_empty() { String::new() } else { format!("\nkernels: {}", shares.join(", ")) }
}

/// Describes several kernels in a table, and in a line for a list of machines.
pub(crate) fn comparison(answers: &[BenchAnswer]) -> String {
    let [first, ..] = answers else { return String::new() };
    let unit = first.method.unit();
    let mut lines = vec![
        format!(
            "n = {} by {}, {} of {} {}, {}",
            first.n,
            first.method,
            first.sample,
            first.parts,
            samples_of(first.method),
            plural(first.threads, "thread")
        ),
        format!(
            "{:<9} {:>12} {:>10} {:>18}  {:<18} counts",
            "kernel",
            "ns/solution",
            format!("ns/{unit}"),
            format!("instructions/{unit}"),
            "whole board"
        ),
    ];
    let number =
        |value: Option<f64>, digits| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    lines.extend(answers.iter().map(|answer| {
        format!(
            "{:<9} {:>12} {:>10} {:>18}  {:<18} {}",
            answer.kernel,
            number(answer.ns_per_solution, 3),
            number(answer.ns_per_node, 3),
            number(answer.instructions_per_node, 2),
            rough_time(answer.projected_core_seconds, "core-"),
            if answer.agrees { "right" } else { "WRONG" }
        )
    }));
    for answer in answers {
        lines.push(format!("{} is checked against {}", answer.kernel, answer.checked_against));
    }
    let times = answers.iter().map(|answer| format!("{} {}", answer.kernel, number(answer.ns_per_node, 3)));
    lines.push(format!(
        "for docs/KERNEL.md: queens {VERSION}, {} {}, {}; n = {}, {}, {}: {} ns/{unit}",
        std::env::consts::ARCH,
        std::env::consts::OS,
        processor_name().as_deref().unwrap_or("processor not known"),
        first.n,
        first.method,
        plural(first.threads, "thread"),
        times.collect::<Vec<_>>().join(", ")
    ));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_take_time_are_named_with_their_shares() {
        let stages = [("clear", 0.001), ("words", 1.0), ("join", 3.0)];
        let stages = stages.map(|(stage, seconds)| StageTime { stage, seconds });
        assert_eq!(shares(&stages), "\nkernels: join 75 %, words 25 %");
        assert_eq!(shares(&[]), "");
        assert_eq!(shares(&[StageTime { stage: "join", seconds: 0.0 }]), "");
    }
}
