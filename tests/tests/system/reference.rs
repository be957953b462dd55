//! The reference in docs/reference, generated from the programs, so that it is complete and up to date.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use queens_tests::help::commands;
use queens_tests::prelude::*;

/// Compares a page with the generated one. To regenerate them: `QUEENS_GENERATE=1 cargo test -p queens-tests --test
/// reference`.
#[track_caller]
fn check(name: &str, made: &str) {
    let kept = Path::new(REPOSITORY).join("docs/reference").join(name);
    if env::var_os("QUEENS_GENERATE").is_some() {
        fs::write(&kept, made).expect("written");
    }
    let is_same = fs::read_to_string(&kept).is_ok_and(|kept| kept == made);
    assert!(
        is_same,
        "docs/reference/{name} is not what the programs say: see tests/tests/system/reference.rs"
    );
}

/// Returns the help of a program or of one of its commands, without defaults of this machine.
fn help(name: &str, commands: &[&str]) -> String {
    let said = run(program(name).args(commands).arg("--help")).good();
    let mut lines = String::new();
    let mut is_of_processors = false;
    for line in said.stdout.lines() {
        if line.trim_start().starts_with('-') {
            is_of_processors = ["--threads", "--cores"].iter().any(|option| line.contains(option));
        }
        let is_default = line.trim_start().starts_with("[default: ") && is_of_processors;
        lines += if is_default { "          [default: one for each processor]" } else { line.trim_end() };
        lines.push('\n');
    }
    lines
}

/// Adds the help of a program or a command, and of all its subcommands.
fn add(page: &mut String, program: &str, path: &[&str]) {
    let help = help(program, path);
    let marks = "#".repeat(path.len() + 1);
    let name = [&[program], path].concat().join(" ");
    write!(page, "{marks} {name}\n\n```text\n{}\n```\n\n", help.trim_end()).expect("into a text");
    for command in commands(&help) {
        add(page, program, &[path, &[command]].concat());
    }
}

#[test]
fn commands_are_those_of_the_programs() {
    for program in ["queens", "queens-coordinator", "queens-worker"] {
        let mut page = String::new();
        add(&mut page, program, &[]);
        assert!(page.contains("## ") || program == "queens-worker", "{page}");
        check(&format!("{program}.md"), &(page.trim_end().to_owned() + "\n"));
    }
}

/// Escapes a text for a table's cell.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('<', "&lt;")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Describes a schema's type, with a link to its definition.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(parts) = ["oneOf", "anyOf", "allOf"].iter().find_map(|key| schema[*key].as_array()) {
        return parts.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

#[test]
fn the_api_is_that_of_its_document() {
    let document = fs::read_to_string(Path::new(REPOSITORY).join("coordinator/src/http/openapi.json"));
    let document: Value = serde_json::from_str(&document.expect("there")).expect("JSON");
    let mut page = "# JSON API\n\nOf a coordinator with `--http`. Made from `/api/v1/openapi.json`, which has all of it \
                    for programs.\n\n"
        .to_owned();
    page += &format!("{}\n\n", text(&document["info"], "description"));
    page += "| request | parameters | body | does |\n|---|---|---|---|\n";
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let parameters = parameters.filter(|parameter| parameter["in"] == "query");
            let parameters: Vec<String> =
                parameters.map(|parameter| format!("`{}`", text(parameter, "name"))).collect();
            let body = &operation["requestBody"]["content"]["application/json"]["schema"];
            let body = if body.is_null() { String::new() } else { kind(body) };
            let does = [text(operation, "summary"), text(operation, "description")].join(" ");
            writeln!(
                page,
                "| `{} {path}` | {} | {body} | {} |",
                method.to_uppercase(),
                parameters.join(" "),
                cell(&does)
            )
            .expect("into a text");
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().expect("schemas") {
        write!(page, "\n## {name}\n\n").expect("into a text");
        let words = cell(text(schema, "description"));
        if !words.is_empty() {
            write!(page, "{words}\n\n").expect("into a text");
        }
        let own = schema["allOf"].as_array().map_or_else(|| vec![schema], |parts| parts.iter().collect());
        for part in own {
            if part["properties"].is_null() {
                let values = part["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let values: Vec<String> = values.map(|value| format!("`{value}`")).collect();
                let what =
                    if values.is_empty() { kind(part) } else { format!("one of {}", values.join(", ")) };
                write!(page, "{what}\n\n").expect("into a text");
                continue;
            }
            page += "| field | type | |\n|---|---|---|\n";
            for (field, schema) in part["properties"].as_object().expect("fields") {
                let description = cell(text(schema, "description"));
                writeln!(page, "| `{field}` | {} | {description} |", kind(schema)).expect("into a text");
            }
        }
    }
    check("api.md", &(page.trim_end().to_owned() + "\n"));
}

/// Returns the names, kinds and meanings of Prometheus metrics.
fn metrics(told: &str) -> String {
    let mut table = "| metric | kind | |\n|---|---|---|\n".to_owned();
    let mut about = "";
    for line in told.lines() {
        if let Some(words) = line.strip_prefix("# HELP ") {
            about = words;
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' '))
        {
            let meaning = about.strip_prefix(name).expect("the help of a metric is before its kind");
            writeln!(table, "| `{name}` | {kind} | {} |", cell(meaning)).expect("into a text");
        }
    }
    table
}

#[test]
fn metrics_are_those_that_are_served() {
    let Scenario { scratch, coordinator, .. } = Scenario::with_http();
    let mut command = worker_command(&coordinator.url(), "rack1", Kernel::Portable);
    command.args(["--http", "127.0.0.1:0"]);
    let mut worker = Service::start(command, &scratch.join("worker.log"));
    let of_worker = metrics(&http::get(&worker.logged("serving metrics address="), "/metrics").body);
    let of_coordinator = metrics(&http::get(&coordinator.http(), "/metrics").body);
    assert!(
        of_worker.lines().count() > 4 && of_coordinator.lines().count() > 20,
        "{of_worker}{of_coordinator}"
    );
    let page = format!(
        "# Metrics\n\nWhat `/metrics` tells Prometheus: of a coordinator with `--http ADDRESS`, and of a worker with its \
         own `--http ADDRESS`. [Jobs](../operations/jobs.md#metrics-and-alerts) says how to use them.\n\n\
         ## Of a coordinator\n\n{of_coordinator}\n## Of a worker\n\n{of_worker}"
    );
    check("metrics.md", &page);
}
