//! Truncates texts to a width.

use ratatui::text::Span;

/// Returns the text, or its beginning and `…` if it is wider than `width` cells.
pub(super) fn truncate(text: &str, width: usize) -> String {
    if cells(text) <= width {
        return text.to_owned();
    }
    let (mut cut, mut taken) = (String::new(), 0);
    for c in text.chars() {
        taken += cells(c.encode_utf8(&mut [0; 4]));
        if taken >= width {
            break;
        }
        cut.push(c);
    }
    if width > 0 {
        cut.push('…');
    }
    cut
}

/// Returns the width of a text in cells.
pub(super) fn cells(text: &str) -> usize {
    Span::raw(text).width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_ends_in_dots_and_fits() {
        for (text, width, expected) in [
            ("alpha", 5, "alpha"),
            ("alpha", 4, "alp…"),
            ("alpha", 1, "…"),
            ("alpha", 0, ""),
            ("", 0, ""),
            ("東京都", 6, "東京都"),
            ("東京都", 5, "東京…"),
            ("東京都", 4, "東…"),
        ] {
            assert_eq!(truncate(text, width), expected, "{text} in {width}");
            assert!(cells(&truncate(text, width)) <= width, "{text} in {width}");
        }
    }
}
