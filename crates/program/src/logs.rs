//! Log lines for people.

use std::io;
use std::{env, fmt};

use queens_model::plain;
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::output::{complain, is_colourful};

/// Writes the log of a command to `writer`, filtered by `QUEENS_LOG` or else by `default`.
pub fn log<W>(default: LevelFilter, writer: W)
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(is_colourful(&io::stderr()))
        .with_target(false)
        .fmt_fields(debug_fn(field).delimited(" "));
    tracing_subscriber::registry().with(lines.with_filter(filter(default))).init();
}

/// Writes a field of a log line for people.
///
/// # Errors
/// If the writer fails.
pub(crate) fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let value = format!("{value:?}");
    let value = plain::line(&value);
    match field.name() {
        "message" => writer.write_str(&value),
        name => write!(writer, "{name}={value}"),
    }
}

/// Returns the filter in the environment variable `QUEENS_LOG` (`warn`, `info`, `debug`, or levels of modules), or else
/// `default`. A malformed variable causes a warning and is ignored.
#[must_use]
pub(crate) fn filter(default: LevelFilter) -> Targets {
    let usual = Targets::new().with_default(default);
    let Some(asked) = env::var("QUEENS_LOG").ok().filter(|asked| !asked.is_empty()) else { return usual };
    read(default, &asked).unwrap_or_else(|error| {
        complain(&format!("QUEENS_LOG is ignored: {error}"));
        usual
    })
}

fn read(default: LevelFilter, asked: &str) -> Result<Targets, Mistake> {
    for directive in asked.split(',').map(str::trim) {
        // The parser takes an unknown word for a module. No such module exists, so nothing would be logged.
        let is_level = directive.parse::<LevelFilter>().is_ok();
        if !is_level && !directive.contains('=') && !directive.starts_with("queens_") {
            return Err(Mistake(directive.to_owned()));
        }
    }
    // Levels of modules add to the default, unless the variable sets another one.
    let asked: Targets = asked.parse().map_err(|_| Mistake(asked.to_owned()))?;
    let level = asked.default_level().unwrap_or(default);
    Ok(asked.with_default(level))
}

/// A part of `QUEENS_LOG` that can't be parsed.
#[derive(Debug)]
struct Mistake(String);

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected off, error, warn, info, debug or trace, or levels of modules such as queens_worker=debug, not \
             '{}'",
            self.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(asked: &str, expected: Option<&str>) {
        let read = read(LevelFilter::INFO, asked).ok().map(|filter| {
            let text = filter.to_string();
            let mut parts: Vec<&str> = text.split(',').collect();
            parts.sort_unstable();
            parts.join(",")
        });
        assert_eq!(read.as_deref(), expected, "{asked}");
    }

    #[test]
    fn a_mistyped_level_is_no_module() {
        check("debug", Some("debug"));
        check("WARN", Some("warn"));
        check("queens_worker=debug", Some("info,queens_worker=debug"));
        check("warn,queens_worker=debug", Some("queens_worker=debug,warn"));
        check("h2=trace", Some("h2=trace,info"));
        check("inof", None);
        check("info,debgu", None);
        check("queens_worker=debgu", None);
    }
}
