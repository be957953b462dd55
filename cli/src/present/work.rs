//! Formats work and speed: in nodes for the search, in units for the halves.

use queens_model::{MethodSpeeds, grouped, plural};
use queens_solver::Method;
use serde::Serializer;

/// Serializes a method as its name.
pub(crate) fn method_name<S: Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.name())
}

/// Formats work: "41109033 nodes", "1729 units of work".
pub(crate) fn work_text(method: Method, amount: &str) -> String {
    let units = plural(amount, method.unit());
    match method {
        Method::Search => units,
        Method::Halves => format!("{units} of work"),
    }
}

/// Formats a speed: "866 M nodes/s".
pub(crate) fn speed(method: Method, per_second: f64) -> String {
    format!("{} M {}s/s", grouped(per_second / 1e6), method.unit())
}

/// Formats the speeds by both methods: "866 M nodes/s + 450 M units/s"; 0 if nothing is counted, and a dash if unknown.
pub(crate) fn speeds(speeds: Option<MethodSpeeds>) -> String {
    let Some(speeds) = speeds else { return "–".to_owned() };
    let used = Method::ALL.map(|method| (method, speeds.of(method).get()));
    let used: Vec<String> =
        used.iter().filter(|(_, it)| *it > 0.0).map(|(method, it)| speed(*method, *it)).collect();
    if used.is_empty() { "0".to_owned() } else { used.join(" + ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_has_its_own_unit() {
        assert_eq!(work_text(Method::Search, "1"), "1 node");
        assert_eq!(work_text(Method::Search, "41109033"), "41109033 nodes");
        assert_eq!(work_text(Method::Halves, "1"), "1 unit of work");
        assert_eq!(work_text(Method::Halves, "1729"), "1729 units of work");
    }

    #[test]
    fn speeds_of_both_methods_are_not_added_up() {
        let of = |search: u32, halves: u32| {
            speeds(Some(MethodSpeeds { search: search.into(), halves: halves.into() }))
        };
        assert_eq!(of(866_400_000, 0), "866 M nodes/s");
        assert_eq!(of(0, 1_450_000_000), "1,450 M units/s");
        assert_eq!(of(866_400_000, 1_450_000_000), "866 M nodes/s + 1,450 M units/s");
        assert_eq!(of(0, 0), "0");
        assert_eq!(speeds(None), "–");
    }
}
