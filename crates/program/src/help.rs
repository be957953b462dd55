//! Formats help: colours, groups of commands, and examples.

use std::fmt::Write;

use clap::builder::styling::{AnsiColor, Style, Styles};
use clap::{Command, Parser};

/// The colours of all help. Only terminals show them, unless NO_COLOR is set.
const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Green.on_default());

/// The characters in a line of help, which fit on every terminal.
pub(crate) const LINE: usize = 80;

/// A program of the project: its arguments, and the additions to its help.
pub trait Program: Parser {
    /// Its commands in groups, in the order of the help; empty for one plain list.
    const GROUPS: &'static [Group] = &[];

    /// Examples, one per line, each with its explanation after `  # `. Those before the first empty line are of the
    /// program as a whole, each of the others of the command that it calls.
    const EXAMPLES: &'static str;
}

/// A heading, and its commands.
pub type Group = (&'static str, &'static [&'static str]);

/// Returns the command line of a program with its complete help.
pub(crate) fn command<P: Program>() -> Command {
    let command = with_examples(P::command().styles(STYLES), "", P::EXAMPLES);
    if P::GROUPS.is_empty() {
        return command;
    }
    let template = template(&command, P::GROUPS);
    command.help_template(template)
}

fn with_examples(command: Command, path: &str, all: &'static str) -> Command {
    let text = examples(&examples_of(&command, path, all));
    command.after_help(text).mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        with_examples(below, path.trim_start(), all)
    })
}

/// Returns the examples of the command at `path`, and their explanations. "" is the path of the program itself,
/// "workers drain" that of a nested command. A command that does nothing itself has the examples of its own commands.
pub(crate) fn examples_of(
    command: &Command,
    path: &str,
    all: &'static str,
) -> Vec<(&'static str, &'static str)> {
    let (of_program, of_commands) = all.split_once("\n\n").unwrap_or((all, ""));
    let lines = if path.is_empty() { of_program } else { of_commands };
    let is_of_command = |line: &&str| {
        let called = line.split_once(' ').map_or("", |(_program, called)| called);
        let rest = called.strip_prefix(path).filter(|rest| rest.starts_with(' '));
        let next = rest.and_then(|rest| rest.split_whitespace().next());
        let has_own = !command.is_subcommand_required_set();
        next.is_some_and(|next| !has_own || command.find_subcommand(next).is_none())
    };
    let lines = lines.lines().filter(|line| path.is_empty() || is_of_command(line));
    lines.map(|line| line.split_once("  # ").unwrap_or((line, ""))).collect()
}

/// Formats examples for the end of the help.
pub(crate) fn examples(lines: &[(&str, &str)]) -> String {
    let (header, literal) = (STYLES.get_header(), STYLES.get_literal());
    let dimmed = Style::new().dimmed();
    let lengths = |of: fn(&(&str, &str)) -> usize| lines.iter().map(of).max().unwrap_or(0);
    // An explanation follows a long example directly, without a column.
    let longest_meaning = lengths(|(_, does)| does.chars().count());
    let width = lengths(|(line, _)| line.chars().count()).min((LINE - 6).saturating_sub(longest_meaning));
    let mut text = format!("{header}Examples:{header:#}");
    for (line, does) in lines {
        // Spaces stay outside the styles, so that they are not displayed.
        let gap = " ".repeat(width.saturating_sub(line.chars().count()));
        _ = write!(text, "\n  {literal}{line}{literal:#}{gap}  {dimmed}# {does}{dimmed:#}");
    }
    text
}

/// Returns a command's description in one line.
fn about(command: &Command, name: &str) -> String {
    match command.find_subcommand(name).and_then(Command::get_about) {
        Some(about) => about.to_string(),
        // clap adds that command later.
        None => "Print this help, or that of a command".to_owned(),
    }
}

/// Returns the help template of a program with grouped commands.
pub(crate) fn template(command: &Command, groups: &[Group]) -> String {
    let (header, literal) = (STYLES.get_header(), STYLES.get_literal());
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    let names = groups.iter().flat_map(|(_, names)| *names);
    let width = names.map(|name| name.len()).max().unwrap_or(0);
    for (heading, names) in groups {
        _ = writeln!(template, "{header}{heading}:{header:#}");
        for name in *names {
            let gap = " ".repeat(width - name.len());
            _ = writeln!(template, "  {literal}{name}{literal:#}{gap}  {}", about(command, name));
        }
        template.push('\n');
    }
    _ = write!(template, "{header}Options:{header:#}\n{{options}}{{after-help}}");
    template
}

/// Returns the help shown for a call without a command: it fits on a terminal of 24 lines.
pub(crate) fn short<P: Program>() -> String {
    let (header, literal) = (STYLES.get_header(), STYLES.get_literal());
    let mut command = command::<P>();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let name = command.get_name().to_owned();
    let usage = command.render_usage().ansi().to_string();
    let mut text = format!("{about}\n\n{}\n\n", usage.trim_end());
    let width = P::GROUPS.iter().map(|(heading, _)| heading.len()).max().unwrap_or(0);
    for (heading, names) in P::GROUPS {
        _ = write!(text, "{header}{heading}{header:#}{}  ", " ".repeat(width - heading.len()));
        _ = writeln!(text, "{literal}{}{literal:#}", names.join(" "));
    }
    if let Some(examples) = command.get_after_help() {
        _ = write!(text, "\n{}\n", examples.ansi());
    }
    _ = write!(text, "\n'{name} --help' has a line on each, '{name} COMMAND --help' all about one.");
    text
}
