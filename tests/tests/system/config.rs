//! Configuration files and documentation of options: none lacks an option.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use queens_tests::help::commands;
use queens_tests::prelude::*;

const SERVICES: [&str; 2] = ["coordinator", "worker"];

fn service(name: &str, args: &[&str]) -> Command {
    let mut command = program(&format!("queens-{name}"));
    command.args(args);
    command
}

/// An option as `--help` describes it.
#[derive(Debug)]
struct Told {
    name: String,
    value: Option<String>,
    text: String,
    default: Option<String>,
}

/// Returns all options of a service, as `--help` describes them.
fn options(name: &str) -> Vec<Told> {
    let help = run(service(name, &["--help"])).stdout;
    let mut told: Vec<Told> = Vec::new();
    // The text may describe a default; the default itself stands after the variable.
    let mut is_text = true;
    for line in help.lines() {
        let words = line.trim();
        if let Some(option) = line.strip_prefix("      --") {
            let (name, value) =
                option.split_once(' ').map_or((option, None), |(name, value)| (name, Some(value)));
            let value = value.map(|value| value.trim_matches(['<', '>']).to_owned());
            is_text = true;
            told.push(Told { name: name.to_owned(), value, text: String::new(), default: None });
        } else if let Some(last) =
            told.last_mut().filter(|_| line.starts_with("          ") || words.is_empty())
        {
            let default = words.strip_prefix("[default: ").filter(|_| !is_text);
            is_text &= !words.starts_with("[env: ");
            if let Some(default) = default {
                last.default = Some(default.trim_end_matches(']').to_owned());
            } else if is_text {
                last.text += words;
                last.text.push('\n');
            }
        }
    }
    assert!(told.len() > 10, "{told:?}");
    told
}

/// Returns the expected example of a service's configuration.
fn example(name: &str) -> String {
    let mut file = format!(
        "# Configuration of queens-{name}: QUEENS_CONFIG or --config names this file. What is given on the command line, or by an\n\
         # environment variable, beats it. Made from 'queens-{name} --help' by tests/tests/system/config.rs.\n"
    );
    for Told { name, value, text, default } in options(name) {
        if ["config", "check-config"].contains(&name.as_str()) {
            continue;
        }
        file.push('\n');
        for line in text.trim().lines() {
            file += format!("# {line}").trim_end();
            file.push('\n');
        }
        let key = if name.contains('.') { format!("\"{name}\"") } else { name.clone() };
        // The default on this machine differs from that of the next.
        let default = if name == "threads" { Some("4".to_owned()) } else { default };
        let said = match (value, default) {
            (None, _) => "true".to_owned(),
            (Some(what), None) if what == "NUMBER" => "1000".to_owned(),
            (Some(_), Some(number)) if number.parse::<u64>().is_ok() => number,
            (Some(_), Some(default)) => format!("\"{default}\""),
            (Some(what), None) => format!("\"{what}\""),
        };
        file += &format!("#{key} = {said}\n");
    }
    file
}

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../deploy/config/{name}.toml"))
}

/// To regenerate them: `QUEENS_GENERATE=1 cargo test --test config`.
#[test]
fn the_examples_have_every_option() {
    for name in SERVICES {
        let example = example(name);
        if env::var_os("QUEENS_GENERATE").is_some() {
            fs::write(kept(name), &example).expect("written");
        }
        let is_same = fs::read_to_string(kept(name)).is_ok_and(|kept| kept == example);
        assert!(is_same, "{} is not what --help says", kept(name).display());
    }
}

fn check(name: &str, config: &str, vars: &[(&str, &str)], args: &[&str]) -> Ended {
    let scratch = TempDir::new();
    let file = scratch.join("config.toml");
    fs::write(&file, config).expect("written");
    let mut command = service(name, args);
    command.arg("--config").arg(&file).arg("--check-config").envs(vars.iter().copied());
    run(command)
}

#[test]
fn what_the_examples_say_is_right() {
    for name in SERVICES {
        assert!(check(name, &fs::read_to_string(kept(name)).expect("readable"), &[], &[]).status.success());
        // Each default alone, as it stands there.
        for Told { name: option, default, .. } in options(name) {
            let Some(default) = default.filter(|_| option != "threads") else { continue };
            let said = if default.parse::<u64>().is_ok() { default } else { format!("\"{default}\"") };
            let checked = check(name, &format!("{option} = {said}\n"), &[], &[]);
            assert_eq!(
                checked.stdout, "options, environment and configuration file are right\n",
                "{checked:?}"
            );
        }
    }
}

#[track_caller]
fn check_refused(name: &str, config: &str, expected: &str) {
    let refused = check(name, config, &[], &[]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(refused.complaint(2).contains(expected), "{refused:?}");
}

#[test]
fn what_is_wrong_is_said_and_where() {
    check_refused("coordinator", "listen = \"127.0.0.1:1\"\nhttp = nowhere\n", "line 2");
    check_refused(
        "coordinator",
        "data_dir = \"x\"\n",
        "there is no option 'data_dir': did you mean 'data-dir'?",
    );
    check_refused("coordinator", "colour = 1\n", "there are listen, http, data-dir");
    check_refused("coordinator", "config = \"x\"\n", "there is no option 'config'");
    check_refused("coordinator", "listen = [1]\n", "'listen' takes a text or a whole number");
    check_refused("coordinator", "require-tokens = \"yes\"\n", "'require-tokens' is true or false");
    check_refused("coordinator", "listen = \"nowhere\"\n", "config.toml");
    check_refused("coordinator", "tls-1.2 = true\n", "\"tls-1.2\"");
    check_refused("worker", "threads = 4097\n", "expected a number of threads");
    check_refused("worker", "listen = \"127.0.0.1:1\"\n", "there is no option 'listen'");
    // A dependency between options also holds here.
    check_refused("coordinator", "tls-cert = \"server.pem\"\n", "--tls-key");
    check_refused("worker", &"#".repeat(2 << 20), "longer than");
    let mut missing = service("worker", &["--config", "/nowhere/worker.toml"]);
    missing.env("QUEENS_THREADS", "1");
    assert!(run(missing).complaint(2).contains("'/nowhere/worker.toml'"));
}

#[test]
fn a_file_that_others_may_change_is_refused() {
    let scratch = TempDir::new();
    let file = scratch.join("config.toml");
    fs::write(&file, "token-file = 'token'\n").expect("written");
    let set = |path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
    let check = |dir_mode, mode| {
        set(scratch.path(), dir_mode);
        set(&file, mode);
        let mut worker = service("worker", &["--check-config", "--config"]);
        worker.arg(&file);
        run(worker).stderr
    };
    for (dir_mode, mode, changed) in [(0o755, 0o666, &*file), (0o777, 0o644, scratch.path())] {
        let complaint = check(dir_mode, mode);
        assert!(complaint.contains(&format!("'{}': others may change it", file.display())), "{complaint}");
        assert!(complaint.contains(&format!("chmod go-w '{}'", changed.display())), "{complaint}");
    }
    let complaint = check(0o755, 0o644);
    assert!(!complaint.contains("others may change it"), "{complaint}");
}

#[test]
fn the_command_line_beats_the_environment_and_that_the_file() {
    let wrong = "listen = \"nowhere\"\n";
    assert!(!check("coordinator", wrong, &[], &[]).status.success());
    assert!(check("coordinator", wrong, &[("QUEENS_LISTEN", "127.0.0.1:1")], &[]).status.success());
    assert!(check("coordinator", wrong, &[], &["--listen", "127.0.0.1:1"]).status.success());
    assert!(
        !check("coordinator", wrong, &[("QUEENS_LISTEN", "")], &[]).status.success(),
        "empty is not given"
    );
    let right = "listen = \"127.0.0.1:1\"\nrequire-tokens = false\n";
    assert!(!check("coordinator", right, &[("QUEENS_LISTEN", "nowhere")], &[]).status.success());
    // A subcommand has no configuration file.
    let scratch = TempDir::new();
    let mut backup = service("coordinator", &["key", "--data-dir"]);
    backup.arg(scratch.path()).env("QUEENS_CONFIG", "/nowhere/coordinator.toml");
    assert!(!run(backup).complaint(1).contains("coordinator.toml"));
}

/// Where several coordinators can be named, a list works like commas.
#[test]
fn what_may_be_given_several_times_is_a_list() {
    let pins = ["ab", "cd"].map(|byte| format!("sha256:{}", byte.repeat(32)));
    let [one, other] = &pins;
    for right in [
        "coordinator = \"http://a:1\"\n".to_owned(),
        "coordinator = \"http://a:1,http://b:1\"\n".to_owned(),
        "coordinator = [\"http://a:1\", \"http://b:1\"]\n".to_owned(),
        format!("coordinator = [\"https://a:1\", \"https://b:1\"]\npin = [\"{one}\", \"{other}\"]\n"),
        format!("pin = \"{one},{other}\"\n"),
    ] {
        let checked = check("worker", &right, &[], &[]);
        assert!(checked.status.success(), "{right}: {checked:?}");
    }
    let proxies = "trusted-proxy = [\"127.0.0.1\", \"10.0.0.0/8\"]\n";
    assert!(check("coordinator", proxies, &[], &[]).status.success());
    check_refused("coordinator", "trusted-proxy = \"10.0.0.0/33\"\n", "expected an address or a network");
    check_refused("worker", "coordinator = [\"http://a:1\", \"b\"]\n", "expected a URL such as");
    check_refused("worker", "coordinator = \"http://a:1,\"\n", "expected a URL such as");
    check_refused(
        "worker",
        "coordinator = []\n",
        "'coordinator' takes a text or a whole number, or a list of such",
    );
    check_refused("worker", "coordinator = [[\"http://a:1\"]]\n", "or a list of such");
    check_refused("worker", "name = [\"a\"]\n", "'name' takes a text or a whole number, not");
    check_refused("worker", "pin = [\"sha256:12\"]\n", "expected a pin");
    // The command line replaces the whole list.
    let wrong = "coordinator = [\"http://a:1\", \"b\"]\n";
    assert!(check("worker", wrong, &[("QUEENS_COORDINATOR", "http://a:1,http://b:1")], &[]).status.success());
    let args = ["--coordinator", "http://a:1", "--coordinator", "http://b:1"];
    assert!(check("worker", wrong, &[], &args).status.success());
    let many: Vec<String> = (1..=17).map(|port| format!("http://a:{port}")).collect();
    let refused = check("worker", "", &[("QUEENS_COORDINATOR", &many.join(","))], &[]);
    assert!(refused.complaint(1).contains("17 coordinators are too many: name at most 16"), "{refused:?}");
    let refused = check("worker", "", &[("QUEENS_PIN", &[one.as_str(); 33].join(","))], &[]);
    assert!(refused.complaint(1).contains("33 pins are too many: give at most 32"), "{refused:?}");
}

#[test]
fn documents_have_every_option_and_command() {
    let dir = TempDir::new();
    for name in ["queens", "queens-coordinator", "queens-worker"] {
        assert!(run(program(name).arg("--documents").arg(dir.path())).status.success());
    }
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap_or_else(|_| panic!("{name} is there"));
    for name in SERVICES {
        let (page, bash) = (read(&format!("queens-{name}.1")), read(&format!("queens-{name}.bash")));
        for Told { name: option, .. } in options(name) {
            assert!(bash.contains(&format!("--{option}")), "{option}");
            let in_page = format!("\\-\\-{}", option.replace('-', "\\-"));
            assert!(page.contains(&in_page), "{option}: {page}");
        }
    }
    let help = run(queens(["--help"])).stdout;
    let commands = commands(&help);
    assert!(commands.len() > 20, "{help}");
    for command in commands {
        let page = read(&format!("queens-{command}.1"));
        for text in ["SYNOPSIS", "EXAMPLES", &format!("\n  queens {}", command.replace('-', "\\-"))] {
            assert!(page.contains(text), "{command}: {page}");
        }
        for shell in ["bash", "zsh", "fish", "powershell"] {
            assert!(read(&format!("queens.{shell}")).contains(command), "{command} in {shell}");
        }
    }
    let printed = run(queens(["completions", "bash"])).stdout;
    assert_eq!(printed.trim_end(), read("queens.bash").trim_end());
}
