//! Draws the progress of a job's parts.

use queens_model::{PartGroup, ProgressHistory};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

use super::palette::Palette;
use super::truncate::truncate;

/// Draws a cell for each group of parts, in the order of the plan: full if all of it is recorded. O(cells).
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    progress_history: Option<&ProgressHistory>,
    palette: Palette,
) {
    let groups = progress_history.map_or(&[][..], |progress_history| &progress_history.groups);
    let title = truncate(&format!(" {} ", title(groups)), area.width.into());
    let block = Block::new().borders(Borders::TOP).title(title);
    let cell = |group: &PartGroup| {
        let (sign, style) = sign(group, palette);
        Span::styled(sign, style)
    };
    let lines =
        groups.chunks(usize::from(area.width).max(1)).map(|row| row.iter().map(cell).collect::<Line<'_>>());
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()).block(block), area);
}

/// Returns the number of groups that fit.
pub(super) fn room(area: Rect) -> u32 {
    u32::from(area.width) * u32::from(area.height.saturating_sub(1))
}

fn title(groups: &[PartGroup]) -> String {
    let sum = |of: fn(&PartGroup) -> u32| groups.iter().map(|group| u64::from(of(group))).sum::<u64>();
    let (all, done, begun) = (sum(|it| it.n_parts), sum(|it| it.n_done), sum(|it| it.n_begun));
    let Some(first) = groups.first() else { return "parts".to_owned() };
    let each = match first.n_parts {
        1 => "one".to_owned(),
        n => n.to_string(),
    };
    format!("parts: {done} done █, {begun} begun ░▒▓, {} not begun ·, {each} in a cell", all - done - begun)
}

fn sign(group: &PartGroup, palette: Palette) -> (&'static str, Style) {
    let share = group.fraction.get();
    match group {
        _ if group.n_done == group.n_parts => ("█", palette.good()),
        _ if group.n_done + group.n_begun == 0 => ("·", Style::new().add_modifier(Modifier::DIM)),
        _ if share < 1.0 / 3.0 => ("░", Style::new()),
        _ if share < 2.0 / 3.0 => ("▒", Style::new()),
        _ => ("▓", Style::new()),
    }
}

#[cfg(test)]
mod tests {
    use queens_model::Fraction;

    use super::*;

    #[test]
    fn parts_are_counted_by_how_far_they_are() {
        let group = |n_done, n_begun, share| PartGroup {
            n_parts: 4,
            n_done,
            n_begun,
            fraction: Fraction::try_from(share).expect("a share"),
        };
        let groups =
            [group(4, 0, 1.0), group(3, 1, 0.9), group(1, 0, 0.4), group(0, 1, 0.0), group(0, 0, 0.0)];
        let signs: String = groups.iter().map(|group| sign(group, Palette::from_env()).0).collect();
        assert_eq!(signs, "█▓▒░·");
        let found = title(&groups);
        assert_eq!(found, "parts: 8 done █, 2 begun ░▒▓, 10 not begun ·, 4 in a cell");
        assert_eq!(title(&[]), "parts");
    }
}
