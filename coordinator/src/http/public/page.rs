//! The public pages as HTML, without scripts: a proxy and a browser may keep them.

use std::fmt::Write;

use queens_event_loop::{People, RankedPerson, Snapshot};
use queens_model::{JobState, JobStatus, PartyTotals, percent};
use queens_solver::boards::grid::{escaped, grouped};

use super::super::html::{
    Header, core_hours, day, fact, fill, framed, moment, segment, shell_line, time_left,
};
use super::curve::Curve;
use super::json::{MOST_LISTED, MOST_PEOPLE, listed, shown_jobs};

/// The main parts of the pages, with placeholders.
const CAMPAIGN: &str = include_str!("../../../assets/public.html");
const PEOPLE: &str = include_str!("../../../assets/people.html");
const PERSON: &str = include_str!("../../../assets/person.html");

/// Renders the page of what is counted.
pub(super) fn campaign(people: &People, snapshot: &Snapshot) -> String {
    let (mut open, mut done) = (String::new(), String::new());
    for job in shown_jobs(snapshot) {
        if job.state == JobState::Done {
            done += &done_row(job);
        } else {
            open += &open_job(job);
        }
    }
    if open.is_empty() {
        open += "<p>Nothing is counted at present.</p>\n";
    }
    let done = match done.is_empty() {
        true => "<p>Nothing is done yet.</p>\n".to_owned(),
        false => table("done", &["Board", "Solutions", "Method", "Done on"], &done),
    };
    let all = &people.all;
    let facts = fact("People", &grouped(people.ranked.len() as u128))
        + &fact("Core-hours", &core_hours(all.time()))
        + &fact("Records", &grouped(all.n_records.into()))
        + &fact("Confirmed by others", &grouped(all.n_confirmed.into()));
    let page = framed("What is counted", &[], Header::Public, "/public", CAMPAIGN);
    fill(&page, &[("open", &open), ("done", &done), ("facts", &facts), ("as_of", &moment(people.at_ms))])
}

/// Returns the name of what a job counts: its board, and its parts if these are not all.
fn board(job: &JobStatus) -> String {
    let parts = job.part().map(|parts| format!(", {}", escaped(&parts))).unwrap_or_default();
    format!("{0} queens on {0}×{0} squares{parts}", job.n)
}

fn open_job(job: &JobStatus) -> String {
    let title = board(job);
    let fraction = job.fraction();
    let facts = fact("Method", job.method.name())
        + &fact("State", job.state.name())
        + &fact("Counted", &percent(fraction))
        + &fact("Time left", &time_left(job));
    format!(
        "<h3>{title}</h3>\n<progress value=\"{fraction:.4}\" max=\"1\" aria-label=\"{title}: the counted share\">\
         </progress>\n<dl class=\"facts\">\n{facts}</dl>\n"
    )
}

fn done_row(job: &JobStatus) -> String {
    let done = job.finished_ms.map_or_else(|| "–".to_owned(), day);
    let mut solutions = grouped(job.progress.solutions);
    if job.agrees() == Some(false) {
        solutions += " (contradicts the published count)";
    }
    row(&[
        ("Board", &board(job)),
        ("Solutions", &solutions),
        ("Method", job.method.name()),
        ("Done on", &done),
    ])
}

/// Renders a page of the list of people.
pub(super) fn people(people: &People, offset: usize) -> String {
    let n_people = people.ranked.len();
    let mut rows = String::new();
    for one in listed(people, offset) {
        let PartyTotals { solutions, n_records, n_confirmed, .. } = one.totals;
        let name = one.person.name.as_str();
        let link = format!("<a href=\"/people/{}\"><bdi>{}</bdi></a>", segment(name), escaped(name));
        rows += &row(&[
            ("Rank", &grouped(one.rank as u128)),
            ("Name", &link),
            ("Core-hours", &core_hours(one.totals.time())),
            ("Solutions found", &grouped(solutions)),
            ("Records", &grouped(n_records.into())),
            ("Confirmed", &grouped(n_confirmed.into())),
            ("Since", &day(one.person.since_ms)),
        ]);
    }
    let list = match rows.is_empty() {
        true => "<p>Nobody is listed here yet.</p>\n".to_owned(),
        false => {
            let headings = ["Rank", "Name", "Core-hours", "Solutions found", "Records", "Confirmed", "Since"];
            table("people", &headings, &rows)
        }
    };
    let mut pages = String::new();
    if offset > 0 {
        let before = offset.saturating_sub(MOST_LISTED);
        _ = write!(pages, "<a rel=\"prev\" href=\"/people?offset={before}\">Previous</a> ");
    }
    let next = offset.saturating_add(MOST_LISTED);
    if next < n_people.min(MOST_PEOPLE) {
        _ = write!(pages, "<a rel=\"next\" href=\"/people?offset={next}\">Next</a>");
    }
    let others = &people.others;
    let others =
        format!("{} core-hours, {} records", core_hours(others.time()), grouped(others.n_records.into()));
    let values = [
        ("n_people", &*grouped(n_people as u128)),
        ("list", &list),
        ("pages", &pages),
        ("others", &others),
        ("as_of", &moment(people.at_ms)),
    ];
    fill(&framed("People", &[], Header::Public, "/people", PEOPLE), &values)
}

/// Renders the page of a person, which everybody reaches at `origin`.
pub(super) fn person(people: &People, one: &RankedPerson, curve: &Curve, origin: &str) -> String {
    let (name, totals) = (escaped(one.person.name.as_str()), &one.totals);
    let path = format!("/people/{}", segment(one.person.name.as_str()));
    let n_people = people.ranked.len();
    let rank = format!("{} of {}", grouped(one.rank as u128), grouped(n_people as u128));
    let mut facts = fact("Rank", &rank)
        + &fact("Core-hours", &core_hours(totals.time()))
        + &fact("Share of all", &percent(people.share(totals)))
        + &fact("Solutions found", &grouped(totals.solutions))
        + &fact("Records", &grouped(totals.n_records.into()))
        + &fact("Confirmed by others", &grouped(totals.n_confirmed.into()))
        + &fact("Recounts of others", &grouped(totals.n_recounts.into()));
    for (name, work) in [("Nodes by search", totals.search_work), ("Units by halves", totals.halves_work)] {
        if work > 0 {
            facts += &fact(name, &grouped(work));
        }
    }
    facts += &fact("Since", &day(one.person.since_ms));
    let badge = format!("{path}/badge.svg");
    let embed =
        format!("<a href=\"{origin}{path}\"><img src=\"{origin}{badge}\" alt=\"counting queens\"></a>");
    let values = [
        ("name", &*name),
        ("facts", &facts),
        ("curve", &curve.html()),
        ("badge", &badge),
        ("embed", &shell_line(&embed)),
        ("api", &format!("/api/v1{path}")),
        ("as_of", &moment(people.at_ms)),
    ];
    fill(&framed("{name}", &["copy"], Header::Public, "", PERSON), &values)
}

fn table(of: &str, headings: &[&str], rows: &str) -> String {
    let headings: String =
        headings.iter().map(|name| format!("<th scope=\"col\" data-label=\"{name}\">{name}</th>")).collect();
    format!(
        "<div class=\"sideways\" tabindex=\"0\" role=\"region\" aria-label=\"The table\">\n\
         <table class=\"list {of}\" aria-labelledby=\"{of}-title\">\n<thead><tr>{headings}</tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}

/// Returns a row of a table. The values are HTML.
fn row(cells: &[(&str, &str)]) -> String {
    let cells: String = cells
        .iter()
        .map(|(name, value)| format!("<td data-label=\"{name}\"><span>{value}</span></td>"))
        .collect();
    format!("<tr>{cells}</tr>\n")
}

/// Draws the badge: core-hours and rank. The name is only in the title, since nobody knows how wide it is.
pub(super) fn badge(one: &RankedPerson, n_people: usize) -> String {
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
