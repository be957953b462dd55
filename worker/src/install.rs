//! The commands that make the system start the worker for its user, and that end this.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use queens_model::plain;
use queens_platform::{
    Supervisor, UserService, make_private_directory, open_regular_file, replace_private_file, run_supervisor,
};
use queens_program::print;

use crate::user_config::user_file;

/// The start of the file of another program suffices to know that it is not ours.
const LARGEST: u64 = 64 << 10;

/// Returns the service of this program, which counts by the user's file.
fn service(program: PathBuf, config: &Path) -> anyhow::Result<UserService> {
    let config = config.to_str().with_context(|| format!("the path {config:?} is no UTF-8"))?;
    Ok(UserService {
        name: "queens-worker",
        label: "org.queens.worker",
        description: "Worker of n-queens counts",
        mark: "Made by 'queens-worker install'.",
        program,
        arguments: vec!["--config".to_owned(), config.to_owned()],
    })
}

/// Makes the system start the worker at log-in, and now. With `prints_only`, shows the file for that instead.
///
/// # Errors
/// If the user has not joined a campaign, or the file is there and not ours, or can't be written.
pub(crate) fn install(prints_only: bool) -> anyhow::Result<()> {
    let supervisor = Supervisor::of_this_system();
    let config = user_file().context("there is no home directory: set HOME")?;
    let program = std::env::current_exe().context("the path of this program is not known")?;
    let service = service(program, &config)?;
    let text = supervisor.text(&service)?;
    if prints_only {
        return print(text.trim_end());
    }
    if !config.is_file() {
        bail!(
            "you have not joined yet: there is no '{}', which 'queens-worker join URL' makes",
            config.display()
        );
    }
    let file = supervisor.file(&service).context("there is no home directory: set HOME")?;
    if check_ours(supervisor, &file, &service)? && supervisor != Supervisor::Systemd {
        // launchd loads no agent twice, and a running task would go on with the old program.
        _ = run_all(&supervisor.stop_commands(&service));
    }
    let made = file.parent().map_or(Ok(()), make_private_directory);
    let written = made.and_then(|()| replace_private_file(&file, &supervisor.encode(&text)));
    written.with_context(|| format!("failed to write '{}'", file.display()))?;
    let commands = supervisor.start_commands(&service, &file);
    let state = match run_all(&commands) {
        Ok(()) => "it runs now; 'queens-worker status' tells what it does".to_owned(),
        Err(reason) => format!("not yet, as {reason}; start it by: {}", shown(&commands)),
    };
    print(&format!(
        "installed  '{}'\nruns       {state}\nstarts     {}\nundo       queens-worker uninstall",
        file.display(),
        supervisor.when_it_starts(),
    ))
}

/// Ends what [`install`] did.
///
/// # Errors
/// If the file is not ours, or can't be removed.
pub(crate) fn uninstall() -> anyhow::Result<()> {
    let supervisor = Supervisor::of_this_system();
    let service = service(PathBuf::new(), Path::new(""))?;
    let file = supervisor.file(&service).context("there is no home directory: set HOME")?;
    if !check_ours(supervisor, &file, &service)? {
        return print(&format!("nothing is installed: there is no '{}'", file.display()));
    }
    let commands = supervisor.stop_commands(&service);
    let state = match run_all(&commands) {
        Ok(()) => "it has reported its counts and ended".to_owned(),
        Err(reason) => format!("perhaps, as {reason}; stop it by: queens-worker stop"),
    };
    fs::remove_file(&file).with_context(|| format!("failed to remove '{}'", file.display()))?;
    print(&format!(
        "removed   '{}'\nstopped   {state}\ngo on     'queens-worker' alone still counts; your invitation stays",
        file.display()
    ))
}

/// Returns whether there is a file of ours.
///
/// # Errors
/// If there is another one, or it can't be read.
fn check_ours(supervisor: Supervisor, file: &Path, service: &UserService) -> anyhow::Result<bool> {
    let unreadable = || format!("failed to read '{}'", file.display());
    match file.symlink_metadata() {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error).with_context(unreadable),
    }
    let mut bytes = Vec::new();
    let read = open_regular_file(file).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    read.with_context(unreadable)?;
    let is_ours = supervisor.decode(&bytes).contains(service.mark);
    ensure!(is_ours, "'{}' is not of 'queens-worker install': move it away first", file.display());
    Ok(true)
}

/// Runs commands until one fails; returns which, and why.
fn run_all(commands: &[Vec<String>]) -> Result<(), String> {
    for command in commands {
        run_supervisor(command).map_err(|error| {
            let reason = error.to_string();
            format!("'{}' failed ({})", command.join(" "), plain::line(&reason))
        })?;
    }
    Ok(())
}

fn shown(commands: &[Vec<String>]) -> String {
    let lines: Vec<String> = commands.iter().map(|command| command.join(" ")).collect();
    lines.join(" && ")
}
