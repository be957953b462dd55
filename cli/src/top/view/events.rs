//! Draws the list of events.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use queens_model::{Event, JobId};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::header::seconds;
use super::truncate::{cells, truncate};
use crate::top::screen::Screen;

/// Draws the latest events that fit, of all jobs or of one. O(received events).
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, screen: &Screen, of: Option<JobId>) {
    let title = of.map_or_else(|| " events ".to_owned(), |job| format!(" events of job {job} "));
    let block = Block::new().borders(Borders::TOP).title(title);
    let inner = block.inner(area);
    let latest_first = screen.news.iter().flat_map(|news| news.events.iter().rev());
    let meant = latest_first.filter(|event| of.is_none() || event.job == of);
    let lines: Vec<Line<'_>> =
        meant.take(inner.height.into()).map(|event| line(event, of.is_none(), inner.width.into())).collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn line(event: &Event, names_job: bool, width: usize) -> Line<'_> {
    let at = UNIX_EPOCH + Duration::from_millis(event.at_ms);
    let age = SystemTime::now().duration_since(at).unwrap_or_default();
    let age = format!("{:>11} ago  ", seconds(age));
    let job = event.job.filter(|_| names_job).map(|job| format!("job {job}: ")).unwrap_or_default();
    let text = truncate(&format!("{job}{}", event.text), width.saturating_sub(cells(&age)));
    Line::from(vec![Span::styled(age, Modifier::DIM), Span::raw(text)])
}
