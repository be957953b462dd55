//! How fast a job was counted.

use queens_messages::{Course, JobId, Speed};
use queens_solver::Method;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, Borders, Sparkline, SparklineBar};

use super::fit::fit;
use super::palette::Palette;
use super::title::seconds;
use crate::present::work::speed;
use crate::top::cluster::JobNews;

/// The curve of a job, as wide as there is room: as measured by the coordinator, over all the time it was measured. O(cells).
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    (job, method): (JobId, Method),
    news: Option<&JobNews>,
    palette: Palette,
) {
    let course = news.map(|news| news.course.as_ref());
    let title = fit(&format!(" {} ", title(job, method, course)), area.width.into());
    let block = Block::new().borders(Borders::TOP).title(title);
    let rates = course.flatten().map_or(&[][..], |course| &course.rates);
    let bars = stretched(rates, area.width.into()).map(|rate| match rate {
        Some(rate) => SparklineBar::from(whole(rate)),
        None => SparklineBar::from(None),
    });
    let curve = Sparkline::default().data(bars).style(palette.curve()).absent_value_symbol(" ").block(block);
    frame.render_widget(curve, area);
}

fn title(job: JobId, method: Method, course: Option<Option<&Course>>) -> String {
    match course {
        None => format!("speed of job {job}"),
        Some(None) => format!("speed of job {job}: not told by a coordinator of an older version"),
        Some(Some(course)) if course.rates.is_empty() => format!("speed of job {job}: not measured yet"),
        Some(Some(course)) => {
            let most = course.rates.iter().flatten().map(|rate| rate.get()).fold(0.0, f64::max);
            let now = course.now.map(|now| format!("now {}, ", speed(method, now.get()))).unwrap_or_default();
            let most = speed(method, most);
            format!("speed of job {job} over {}: {now}at most {most}", seconds(course.span))
        }
    }
}

/// As many rates as there are cells, each as often as it is long.
fn stretched(rates: &[Option<Speed>], width: usize) -> impl Iterator<Item = Option<Speed>> {
    let n = if rates.is_empty() { 0 } else { width };
    (0..n).map(move |at| rates[at * rates.len() / width])
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a speed is not negative; a cast saturates"
)]
fn whole(speed: Speed) -> u64 {
    speed.get().round() as u64
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
    }
}
