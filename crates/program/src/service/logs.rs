//! Logs and traces of services.
//!
//! Logs are lines for people, or JSON objects. With a collector, traces go there by OTLP: spans of the project's own
//! crates, of level `debug` and above.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData};
use thiserror::Error;
use tokio::runtime::Runtime;
use tracing::level_filters::LevelFilter;
use tracing::{info, warn};
use tracing_subscriber::Layer;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::debug_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::logs::{field, filter};
use crate::output::{complain, is_colourful};

/// The timeout for sending the last spans at exit.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);

/// The crates whose spans are sent.
const OWN: [&str; 4] = ["queens_coordinator", "queens_counting", "queens_event_loop", "queens_worker"];

/// The minimum interval between warnings about failed sending.
const COMPLAIN: Duration = Duration::from_secs(60);

/// Command-line options for logs and traces.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Logs and configuration")]
pub struct LogArgs {
    /// Format of the logs: lines for people, or JSON objects
    #[arg(long, env = "QUEENS_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,

    /// OpenTelemetry collector to send traces to by OTLP over gRPC, such as http://127.0.0.1:4317 [default: none]
    #[arg(long, env = "QUEENS_OTLP", value_name = "URL", value_parser = collector)]
    otlp: Option<String>,
}

/// The format of the logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// The traces can't be set up.
#[derive(Debug, Error)]
#[error("failed to set up traces: {0}")]
pub struct LogError(String);

/// Keeps the export of traces running, and sends the remaining spans when it is dropped.
#[derive(Debug)]
pub struct Logs(Option<(SdkTracerProvider, Runtime)>);

impl LogArgs {
    /// Writes the logs of the service `name` to stderr, and sends its traces, until the result is dropped.
    ///
    /// # Errors
    /// If the traces can't be set up.
    pub fn start(&self, name: &'static str) -> Result<Logs, LogError> {
        let sending = self.otlp.as_deref().map(|url| Logs::sending(name, url)).transpose()?;
        let traces = sending.as_ref().map(|(provider, _)| {
            let own = OWN.map(|module| (module, LevelFilter::DEBUG));
            tracing_opentelemetry::layer()
                .with_tracer(provider.tracer(name))
                .with_location(false)
                .with_threads(false)
                .with_filter(Targets::new().with_targets(own))
        });
        let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
        let lines = match self.log_format {
            LogFormat::Text => lines
                .with_target(false)
                .with_ansi(is_colourful(&io::stderr()))
                .fmt_fields(debug_fn(field).delimited(" "))
                .boxed(),
            LogFormat::Json => lines.with_ansi(false).json().flatten_event(true).boxed(),
        };
        tracing_subscriber::registry().with(lines.with_filter(filter(LevelFilter::INFO))).with(traces).init();
        Ok(Logs(sending))
    }
}

impl Logs {
    fn sending(name: &'static str, url: &str) -> Result<(SdkTracerProvider, Runtime), LogError> {
        // A runtime of its own sends the last spans after the service's runtime has ended.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| LogError(error.to_string()))?;
        let exporter =
            runtime.block_on(async { SpanExporter::builder().with_tonic().with_endpoint(url).build() });
        let exporter = exporter.map_err(|error| LogError(error.to_string()))?;
        let exporter = WarningWriter { exporter, url: url.to_owned(), complained: Mutex::default() };
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(Resource::builder().with_service_name(name).build())
            .build();
        Ok((provider, runtime))
    }
}

/// An exporter that logs a rate-limited warning when it fails, and a message when it recovers.
#[derive(Debug)]
struct WarningWriter {
    exporter: SpanExporter,
    url: String,
    /// The time of the last warning; `None` if sending works.
    complained: Mutex<Option<Instant>>,
}

impl opentelemetry_sdk::trace::SpanExporter for WarningWriter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let result = self.exporter.export(batch).await;
        // No panic can leave this value inconsistent.
        let mut complained = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        match &result {
            Ok(()) if complained.take().is_some() => info!(url = self.url, "traces can be sent again"),
            Err(error) if complained.is_none_or(|at| at.elapsed() >= COMPLAIN) => {
                *complained = Some(Instant::now());
                warn!(url = self.url, %error, "traces can't be sent to the collector of --otlp");
            }
            Ok(()) | Err(_) => {}
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        if let Some((provider, runtime)) = self.0.take() {
            if let Err(error) = provider.shutdown_with_timeout(DRAIN_TIMEOUT) {
                complain(&format!("the last traces are lost: {error}"));
            }
            runtime.shutdown_background();
        }
    }
}

fn collector(url: &str) -> Result<String, String> {
    let rest = url.strip_prefix("http://");
    let has_port = rest
        .and_then(|rest| rest.trim_end_matches('/').rsplit_once(':'))
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if has_port {
        Ok(url.to_owned())
    } else {
        let expected = "expected a URL such as http://127.0.0.1:4317, without https and without a path";
        Err(format!("{expected}: traces go by gRPC"))
    }
}
