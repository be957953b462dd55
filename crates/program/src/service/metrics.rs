//! Encodes metrics in the two text formats of Prometheus.

use std::fmt;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::Registry;

/// Encoded metrics of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposition {
    /// The value of the header `Content-Type`.
    pub content_type: &'static str,
    /// The metrics.
    pub text: String,
}

/// Encodes all metrics of `registry`: as OpenMetrics if the request's header `accept` names it, otherwise in
/// Prometheus' older text format.
///
/// # Errors
/// If a metric can't be written.
pub fn exposition(registry: &Registry, accept: Option<&str>) -> Result<Exposition, fmt::Error> {
    let mut text = String::new();
    encode_registry(&mut text, registry)?;
    if accept.is_some_and(|accept| accept.contains("application/openmetrics-text")) {
        encode_eof(&mut text)?;
        let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        return Ok(Exposition { content_type, text });
    }
    Ok(Exposition { content_type: "text/plain; version=0.0.4; charset=utf-8", text: plain(&text) })
}

/// Converts OpenMetrics to the older format, which has no units, and names a counter like its samples.
fn plain(open_metrics: &str) -> String {
    let lines: Vec<&str> = open_metrics.lines().collect();
    let is_counter = |name: &str| lines.contains(&format!("# TYPE {name} counter").as_str());
    let renamed = |line: &&str| match line.splitn(4, ' ').collect::<Vec<_>>()[..] {
        ["#", "UNIT", ..] => None,
        ["#", what, name, rest] if is_counter(name) => Some(format!("# {what} {name}_total {rest}\n")),
        _ => Some(format!("{line}\n")),
    };
    lines.iter().filter_map(renamed).collect()
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::registry::Unit;

    use super::*;

    #[track_caller]
    fn check(accept: Option<&str>, content_type: &str, text: &str) {
        let mut registry = Registry::default();
        let (counter, gauge) = (Counter::<u64>::default(), Gauge::<i64>::default());
        counter.inc_by(3);
        registry.register("things", "All things", counter);
        registry.register_with_unit("age", "The age", Unit::Seconds, gauge);
        let found = exposition(&registry, accept).expect("written");
        assert_eq!((found.content_type.split(';').next(), found.text.as_str()), (Some(content_type), text));
    }

    #[test]
    fn numbers_come_in_the_form_that_is_asked_for() {
        check(
            Some("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
            "application/openmetrics-text",
            "# HELP things All things.\n# TYPE things counter\nthings_total 3\n# HELP age_seconds The age.\n\
             # TYPE age_seconds gauge\n# UNIT age_seconds seconds\nage_seconds 0\n# EOF\n",
        );
        for accept in [None, Some("*/*"), Some("text/plain")] {
            check(
                accept,
                "text/plain",
                "# HELP things_total All things.\n# TYPE things_total counter\nthings_total 3\n\
                 # HELP age_seconds The age.\n# TYPE age_seconds gauge\nage_seconds 0\n",
            );
        }
    }
}
