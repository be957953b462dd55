//! `queens top`: shows jobs and workers on the whole screen, and lets operators manage them.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use queens_platform::is_screen;
use queens_program::{cancel_on_signal, print, stdout};
use queens_proto::client::Operator;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::terminal::size;
use ratatui::{DefaultTerminal, Terminal};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::flags::CoordinatorArgs;
use crate::present::progress::TakenScreen;
use crate::top::poller::ask;
use crate::top::screen::{Pressed, Screen};
use crate::top::view::{self, Palette};

/// The interval of drawing without a change.
const REDRAW: Duration = Duration::from_secs(1);

/// The capacity of the queue of answers and keys.
const QUEUE: usize = 64;

/// The size of a screen that is printed where there is no terminal.
const PRINTED: (u16, u16) = (120, 40);

/// Watch and manage jobs and workers on the whole terminal
///
/// It shows events as well; keys pause jobs, and drain or block workers.
#[derive(Debug, clap::Args)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    coordinator: CoordinatorArgs,

    /// Print the screen once, without colours, and exit
    #[arg(long)]
    once: bool,
}

/// Runs the command and returns its exit status.
pub(crate) async fn run(args: &TopArgs) -> anyhow::Result<ExitCode> {
    let TopArgs { coordinator, once } = args;
    if *once {
        print(&printed(coordinator.connect().await?).await?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !is_screen(&stdout()?) || !io::stdin().is_terminal() {
        bail!("'queens top' needs a terminal; 'queens top --once' prints the screen");
    }
    let stop = CancellationToken::new();
    cancel_on_signal(stop.clone()).context("failed to listen to signals")?;
    // Connects first, so that a wrong address is an ordinary error.
    let operator = coordinator.connect().await?;
    let _taken = TakenScreen::take();
    // It installs a hook that restores the terminal if this process panics.
    let mut terminal = ratatui::try_init().context("failed to take over the terminal")?;
    let mut screen = Screen::new(operator.coordinator());
    let shown = show(&mut terminal, &mut screen, operator, &stop).await;
    ratatui::restore();
    shown?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the lines of the screen, once it has everything that it shows.
async fn printed(operator: Operator) -> anyhow::Result<String> {
    let of_terminal =
        size().ok().filter(|&(width, height)| io::stdout().is_terminal() && width > 0 && height > 0);
    let (width, height) = of_terminal.unwrap_or(PRINTED);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).context("failed to draw")?;
    let mut screen = Screen::new(operator.coordinator());
    let (_to_coordinator, actions) = mpsc::channel(QUEUE);
    let (to_screen, mut answers) = mpsc::channel(QUEUE);
    let (wants, wanted) = watch::channel(screen.wanted());
    let asking = tokio::spawn(ask(operator, actions, wanted, to_screen));
    let palette = Palette::from_env();
    loop {
        terminal.draw(|frame| view::draw(frame, &mut screen, palette)).context("failed to draw")?;
        if screen.is_complete() {
            break;
        }
        if let Some(problem) = screen.problem() {
            bail!("{}: {problem}", screen.url);
        }
        wants.send_if_modified(|wanted| std::mem::replace(wanted, screen.wanted()) != screen.wanted());
        screen.hear(answers.recv().await.context("the connection has ended")?);
    }
    asking.abort();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    Ok((0..height).map(line).collect::<Vec<_>>().join("\n").trim_end().to_owned())
}

async fn show(
    terminal: &mut DefaultTerminal,
    screen: &mut Screen,
    operator: Operator,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let (to_coordinator, actions) = mpsc::channel(QUEUE);
    let (to_screen, mut answers) = mpsc::channel(QUEUE);
    let (wants, wanted) = watch::channel(screen.wanted());
    let asking = tokio::spawn(ask(operator, actions, wanted, to_screen));
    let palette = Palette::from_env();
    let mut keys = keys();
    let mut redraw = tokio::time::interval(REDRAW);
    loop {
        terminal.draw(|frame| view::draw(frame, screen, palette)).context("failed to draw")?;
        wants.send_if_modified(|wanted| std::mem::replace(wanted, screen.wanted()) != screen.wanted());
        tokio::select! {
            () = stop.cancelled() => break,
            _ = redraw.tick() => {}
            answer = answers.recv() => if let Some(answer) = answer { screen.hear(answer) },
            event = keys.recv() => match event {
                // The terminal is gone.
                None => break,
                Some(Event::Key(key)) if key.kind != KeyEventKind::Release => match screen.press(key) {
                    Some(Pressed::Quit) => break,
                    Some(Pressed::Do(action)) => screen.asking = to_coordinator.try_send(action).is_ok(),
                    None => {}
                },
                // The terminal has a new size: draw again.
                Some(_) => {}
            },
        }
    }
    asking.abort();
    Ok(())
}

/// Returns the terminal's events. A thread reads them, because reading blocks. It ends with the process.
fn keys() -> mpsc::Receiver<Event> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.blocking_send(event).is_err() {
                return;
            }
        }
    });
    receiver
}
