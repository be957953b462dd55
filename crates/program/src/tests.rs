//! Checks the examples and groups of a program, for the tests of all three.

use clap::Command;
use clap::builder::StyledStr;

use crate::help::{LINE, Program, examples, examples_of, short, template};

/// Returns the faults in a program's examples and groups, one per line. Tests assert that there are none.
#[must_use]
pub fn faults<P: Program>() -> Vec<String> {
    let mut faults: Vec<String> = P::EXAMPLES.lines().filter_map(fault::<P>).collect();
    find_faults(&P::command(), "", P::EXAMPLES, &mut faults);
    let all = P::command();
    let commands = all.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    for name in commands.chain(["help"]).filter(|_| !P::GROUPS.is_empty()) {
        let n = P::GROUPS.iter().flat_map(|(_, names)| *names).filter(|one| **one == name).count();
        if n != 1 {
            faults.push(format!("'{name}' is in {n} groups"));
        }
    }
    let lines = short::<P>();
    let lines = StyledStr::from(lines).to_string();
    if !P::GROUPS.is_empty()
        && (lines.lines().count() > 23 || lines.lines().any(|l| l.chars().count() > LINE))
    {
        faults.push(format!("the short help does not fit on 24 lines of 80 characters:\n{lines}"));
    }
    let template = StyledStr::from(template(&all, P::GROUPS)).to_string();
    let long = template.lines().filter(|line| line.chars().count() > LINE);
    faults.extend(long.map(|line| format!("longer than 80 characters: {line}")));
    faults
}

/// Collects the faults in the examples of all visible commands below `path`.
fn find_faults(command: &Command, path: &str, all: &'static str, faults: &mut Vec<String>) {
    let lines = examples_of(command, path, all);
    if lines.is_empty() {
        faults.push(format!("'{path}' has no example"));
    }
    let text = StyledStr::from(examples(&lines)).to_string();
    let long = text.lines().filter(|line| line.chars().count() > LINE);
    faults.extend(long.map(|line| format!("longer than 80 characters: {line}")));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        find_faults(below, format!("{path} {}", below.get_name()).trim_start(), all, faults);
    }
}

/// Returns the fault of an example: it does not begin with the program, the program refuses it, or it says nothing.
fn fault<P: Program>(line: &str) -> Option<String> {
    let Some((line, _)) = line.split_once("  # ") else {
        return Some(line).filter(|line| !line.is_empty()).map(|line| format!("no explanation: {line}"));
    };
    // Up to a pipe, a redirection or the next command.
    let words: Vec<String> =
        words(line).into_iter().take_while(|word| !["|", ">", "&&"].contains(&word.as_str())).collect();
    if words.first().map(String::as_str) != Some(P::command().get_name()) {
        return Some(format!("does not begin with the program: {line}"));
    }
    P::try_parse_from(words).err().map(|error| format!("{line}: {error}"))
}

/// Splits a line into words like a shell, with quotes only.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match (c, quote) {
            (_, Some(end)) if c == end => quote = None,
            ('"' | '\'', None) => quote = Some(c),
            (' ', None) => words.push(std::mem::take(&mut word)),
            _ => word.push(c),
        }
    }
    words.push(word);
    words.into_iter().filter(|word| !word.is_empty()).collect()
}
