//! The badge of a person, to embed in pages elsewhere.

use queens_event_loop::RankedPerson;

use super::html::{core_hours, escaped};

/// Draws the badge: core-hours and rank. The name is only in the title, since nobody knows how wide it is.
pub(super) fn draw(one: &RankedPerson, n_people: usize) -> String {
    let said = format!("{} core-hours, rank {} of {n_people}", core_hours(one.totals.time()), one.rank);
    let name = escaped(one.person.name.as_str());
    // Each character takes about 6.2 pixels; textLength makes that exact in any font.
    let text = said.len() * 62 / 10;
    let (left, right) = (62, text + 16);
    let (width, middle) = (left + right, left + 8);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"20\" role=\"img\" \
         aria-label=\"queens: {name}, {said}\"><title>queens: {name}, {said}</title>\
         <rect width=\"{width}\" height=\"20\" rx=\"3\" fill=\"#1f5fa8\"/>\
         <path d=\"M3 0H{left}V20H3A3 3 0 0 1 0 17V3A3 3 0 0 1 3 0Z\" fill=\"#3a3d44\"/>\
         <g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\
         <text x=\"8\" y=\"14\" textLength=\"46\">queens</text>\
         <text x=\"{middle}\" y=\"14\" textLength=\"{text}\">{said}</text></g></svg>\n"
    )
}
