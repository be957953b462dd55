//! `queens top`: shows jobs and workers on the whole screen, and lets operators manage them.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use queens_platform::is_screen;
use queens_program::{stdout, stop_on_signal};
use queens_proto::client::{ClientError, Operator};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{Event, KeyEventKind};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::flags::CoordinatorArgs;
use crate::keys::keys;
use crate::present::progress::TakenScreen;
use crate::top::requests::{Answer, ask};
use crate::top::screen::{Pressed, Screen};
use crate::top::view::{self, Palette};

/// The interval of drawing without a change.
const REDRAW: Duration = Duration::from_secs(1);

/// Watch and manage jobs and workers on the whole terminal
///
/// It shows what 'queens jobs', 'queens workers', 'queens status' and 'queens contributions' print, and events. Keys
/// submit and change jobs, and drain or block workers.
#[derive(Debug, clap::Args)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// The end of a request.
enum Ended {
    Answer(Box<Result<Answer, ClientError>>),
    Action(anyhow::Result<String>),
}

/// Runs the command.
pub(crate) async fn run(args: &TopArgs) -> anyhow::Result<()> {
    if !is_screen(&stdout()?) || !io::stdin().is_terminal() {
        bail!("'queens top' needs a terminal; 'queens jobs' and 'queens workers' print the same");
    }
    let stop = stop_on_signal()?;
    // Connects first, so that a wrong address is an ordinary error.
    let operator = Arc::new(args.coordinator.connect().await?);
    let _taken = TakenScreen::take();
    // It installs a hook that restores the terminal if this process panics.
    let mut terminal = ratatui::try_init().context("failed to take over the terminal")?;
    let shown = show(&mut terminal, &operator, &stop).await;
    ratatui::restore();
    shown
}

async fn show(
    terminal: &mut DefaultTerminal,
    operator: &Arc<Operator>,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let mut screen = Screen::new(operator.coordinator());
    let palette = Palette::from_env();
    let mut keys = keys();
    let mut redraw = tokio::time::interval(REDRAW);
    let mut requests = JoinSet::new();
    loop {
        terminal.draw(|frame| view::draw(frame, &mut screen, palette)).context("failed to draw")?;
        if screen.due.take_if(|due| *due <= Instant::now()).is_some() {
            let (operator, view, all) = (operator.clone(), screen.view, screen.are_contributions_due());
            requests.spawn(async move { Ended::Answer(Box::new(ask(&operator, view, all).await)) });
        }
        tokio::select! {
            () = stop.cancelled() => break,
            _ = redraw.tick() => {}
            Some(ended) = requests.join_next() => match ended? {
                Ended::Answer(answer) => screen.hear(*answer),
                Ended::Action(result) => screen.hear_result(result),
            },
            event = keys.recv() => match event {
                // Ctrl-C, or the terminal is gone.
                None => break,
                Some(Event::Key(key)) if key.kind != KeyEventKind::Release => match screen.press(key) {
                    Some(Pressed::Quit) => break,
                    Some(Pressed::Do(action)) => {
                        screen.is_acting = true;
                        let operator = operator.clone();
                        requests.spawn(async move { Ended::Action(action.carry_out(&operator).await) });
                    }
                    None => {}
                },
                // The terminal has a new size: draw again.
                Some(_) => {}
            },
        }
    }
    Ok(())
}
