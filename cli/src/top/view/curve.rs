//! Draws the speed of a job over time.

use queens_model::{JobId, ProgressHistory, Speed};
use queens_solver::Method;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, Borders, Sparkline, SparklineBar};

use super::header::seconds;
use super::palette::Palette;
use super::truncate::truncate;
use crate::present::work::speed;
use crate::top::cluster::JobNews;

/// The height of the highest bar, in steps.
const HIGHEST: u64 = 1000;

/// Draws the speed of a job, as measured by the coordinator, over its whole time and the whole width. O(cells).
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    (job, method): (JobId, Method),
    news: Option<&JobNews>,
    palette: Palette,
) {
    let progress_history = news.map(|news| &news.progress_history);
    let title = truncate(&format!(" {} ", title(job, method, progress_history)), area.width.into());
    let block = Block::new().borders(Borders::TOP).title(title);
    let rates = progress_history.map_or(&[][..], |progress_history| &progress_history.rates);
    let highest = progress_history.map_or(0.0, most);
    let bars = stretched(rates, area.width.into()).map(|rate| match rate {
        Some(rate) => SparklineBar::from(height(rate, highest)),
        None => SparklineBar::from(None),
    });
    let curve = Sparkline::default()
        .data(bars)
        .max(HIGHEST)
        .style(palette.curve())
        .absent_value_symbol(" ")
        .block(block);
    frame.render_widget(curve, area);
}

fn title(job: JobId, method: Method, progress_history: Option<&ProgressHistory>) -> String {
    match progress_history {
        None => format!("speed of job {job}"),
        Some(progress_history) if progress_history.rates.is_empty() => {
            format!("speed of job {job}: not measured yet")
        }
        Some(progress_history) => {
            let now = progress_history
                .now
                .map(|now| format!("now {}, ", speed(method, now.get())))
                .unwrap_or_default();
            let most = speed(method, most(progress_history));
            format!("speed of job {job} over {}: {now}at most {most}", seconds(progress_history.span))
        }
    }
}

/// Stretches rates to the number of cells: each rate fills an equal share of them.
fn stretched(rates: &[Option<Speed>], width: usize) -> impl Iterator<Item = Option<Speed>> {
    let n = if rates.is_empty() { 0 } else { width };
    (0..n).map(move |at| rates[at * rates.len() / width])
}

fn most(progress_history: &ProgressHistory) -> f64 {
    progress_history.rates.iter().flatten().map(|rate| rate.get()).fold(0.0, f64::max)
}

/// Returns the height of a bar relative to the highest rate: at most [`HIGHEST`], whatever a coordinator reports.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of HIGHEST")]
fn height(rate: Speed, highest: f64) -> u64 {
    if highest > 0.0 { (rate.get() / highest * HIGHEST as f64).round() as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_fills_its_room() {
        let rates: Vec<Option<Speed>> = [Some(1.into()), None, Some(3.into())].into();
        let all = |width| stretched(&rates, width).map(|it| it.map(Speed::get)).collect::<Vec<_>>();
        assert_eq!(all(6), [Some(1.0), Some(1.0), None, None, Some(3.0), Some(3.0)]);
        assert_eq!(all(2), [Some(1.0), None]);
        assert_eq!(all(0), []);
        assert_eq!(stretched(&[], 5).count(), 0);
        assert_eq!((height(1.into(), 3.0), height(3.into(), 3.0), height(0.into(), 0.0)), (333, 1000, 0));
        let fastest = Speed::try_from(f64::MAX).expect("a speed");
        assert_eq!(height(fastest, f64::MAX), HIGHEST);
    }
}
