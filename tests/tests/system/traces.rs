//! Traces and logs of the services.

use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::trace::v1::Span;
use queens_tests::collector::collect;
use queens_tests::prelude::*;

#[test]
fn a_collector_gets_the_spans_of_a_job_from_its_submission_to_its_records() {
    let runtime = runtime();
    let (collector, received) = collect(&runtime);
    let Scenario { scratch, coordinator, .. } = Scenario::with(["--otlp", &collector]);
    let mut command = worker_command(&coordinator.url(), "anna", Kernel::best());
    let worker = Service::start(command.args(["--otlp", &collector]), &scratch.join("worker.log"));
    assert_eq!(coordinator.queens(["count", "12"]).status.code(), Some(0));
    worker.stop();
    coordinator.stop();
    drop(runtime);

    let mut by_name: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    let mut services = BTreeSet::new();
    for request in received {
        for resource in request.resource_spans {
            services.insert(format!("{:?}", resource.resource.expect("a resource").attributes));
            for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                by_name.entry(span.name.clone()).or_default().push(span);
            }
        }
    }
    assert!(services.iter().any(|service| service.contains("queens-coordinator")), "{services:?}");
    assert!(services.iter().any(|service| service.contains("queens-worker")), "{services:?}");
    let of = |name: &str| by_name.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", by_name.keys()));
    let job = &of("job")[0];
    assert_eq!(of("job").len(), 1);
    for name in ["submit", "plan", "lease"] {
        for span in of(name) {
            assert_eq!((&span.trace_id, &span.parent_span_id), (&job.trace_id, &job.span_id), "{span:?}");
        }
    }
    let leases: BTreeSet<&Vec<u8>> = of("lease").iter().map(|lease| &lease.span_id).collect();
    for report in of("report") {
        assert!(leases.contains(&report.parent_span_id), "{report:?}");
        for field in ["job", "lease", "worker", "span", "outcome"] {
            assert!(
                report.attributes.iter().any(|attribute| attribute.key == field),
                "no {field}: {report:?}"
            );
        }
    }
    assert!(by_name.contains_key("commit") && by_name.contains_key("count"), "{:?}", by_name.keys());
}

#[test]
fn logs_are_json_objects_on_request() {
    let scratch = TempDir::new();
    let mut command = coordinator_command("127.0.0.1:0", &scratch.join("data"));
    command.args(["--log-format", "json"]);
    let log = scratch.join("log");
    let mut coordinator = Service::start(command, &log);
    coordinator.logged("\"listening\"");
    coordinator.stop();
    let text = std::fs::read_to_string(log).expect("a log");
    for line in text.lines() {
        let object: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(object["timestamp"].is_string() && object["level"] == "INFO", "{line}");
    }
}

#[test]
fn a_mistyped_log_level_is_said_and_silences_nothing() {
    let Scenario { scratch: _scratch, coordinator, .. } = Scenario::by(|mut command| {
        command.env("QUEENS_LOG", "inof");
        command
    });
    let log = coordinator.log();
    assert!(log.starts_with("error: QUEENS_LOG is ignored: expected off, error"), "{log}");
    coordinator.stop();
}
