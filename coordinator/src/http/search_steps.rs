//! The backtracking search on a small board, picture by picture, for the page that animates it.

use axum::Json;
use axum::extract::{Path, Query};
use queens_solver::boards::Queen;
use queens_solver::boards::animation::{Frame, Frames, MOST_FRAMES};
use queens_solver::boards::picture::Look;
use serde::{Deserialize, Serialize};

use super::app::{Answer, Queried};
use super::refusal::RequestRefusal;
#[cfg(test)]
use super::refusal::described::InvalidRequest;

/// The largest board that is shown. On larger ones, the first pictures are all alike.
const LARGEST: u8 = 12;

/// The most pictures in one answer.
const MOST_LISTED: usize = 500;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct PieceQuery {
    /// Number of pictures to skip. Only the first 20,000 are available.
    #[serde(default)]
    from: usize,
    /// Number of pictures to return; at most 500, which is the default.
    limit: Option<usize>,
}

/// A page of the pictures of a search.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct Search {
    /// The size of the board.
    n: u8,
    /// In the order of the search. The first of all is the empty board.
    pictures: Vec<Picture>,
    /// Where the next page begins; null if this is the last one.
    #[cfg_attr(test, schema(required))]
    next: Option<usize>,
    /// Whether the search continues after the last available picture.
    cut: bool,
}

/// One picture: the changes since the one before.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct Picture {
    /// Squares, each at most once.
    changes: Vec<Change>,
    /// Whether the board shows a solution.
    solved: bool,
}

/// The new look of a square.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct Change {
    /// 0 is the top row.
    row: u32,
    /// 0 is the left column.
    column: u32,
    /// safe: a queen that was just placed, or belongs to a solution; attacked: a queen that was tried in vain.
    #[cfg_attr(test, schema(schema_with = look))]
    look: &'static str,
}

/// The backtracking search for all solutions of a board, in pages, as `queens animate --all` shows it.
///
/// O(`from` + `limit`) steps of the search, at most 20,000: a millisecond.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/api/v1/board/{n}",
    params(("n" = u8, Path, description = "The size of the board, 1 to 12.", minimum = 1, maximum = 12), PieceQuery),
    responses((status = 200, description = "The answer.", body = Search), InvalidRequest),
))]
pub(super) async fn search(Path(n): Path<String>, query: Queried<PieceQuery>) -> Answer<Search> {
    let Query(PieceQuery { from, limit }) = query?;
    let n = n.parse().ok().filter(|n| (1..=LARGEST).contains(n)).ok_or_else(|| {
        RequestRefusal::bad_request(format!("searches are shown on boards from 1 to {LARGEST}, not '{n}'"))
    })?;
    Ok(Json(piece(n, from, limit.unwrap_or(MOST_LISTED).min(MOST_LISTED))))
}

fn piece(n: u8, from: usize, limit: usize) -> Search {
    let (from, to) = (from.min(MOST_FRAMES), from.saturating_add(limit).min(MOST_FRAMES));
    let mut frames = Frames::new(n.into(), true).skip(from);
    let pictures: Vec<Picture> = frames.by_ref().take(to - from).map(Picture::from).collect();
    let goes_on = frames.next().is_some();
    let cut = goes_on && to == MOST_FRAMES;
    Search { n, pictures, next: (goes_on && !cut).then_some(to), cut }
}

impl From<Frame> for Picture {
    fn from(Frame { changes, solved }: Frame) -> Self {
        let change = |(Queen { row, column }, look)| Change { row, column, look: name(look) };
        Self { changes: changes.into_iter().map(change).collect(), solved }
    }
}

const fn name(look: Look) -> &'static str {
    match look {
        Look::Empty => "empty",
        Look::Queen => "queen",
        Look::Safe => "safe",
        Look::Attacked => "attacked",
    }
}

#[cfg(test)]
fn look() -> utoipa::openapi::schema::Object {
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    let text = ObjectBuilder::new().schema_type(Type::String).description(Some("What is seen there."));
    text.enum_values(Some(Look::ALL.map(name))).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The concatenated pages are the search: no picture is missing or repeated.
    #[test]
    fn the_pieces_are_the_search() {
        for (n, limit) in [(1, 1), (2, 500), (3, 7), (5, 40), (6, 500)] {
            let (mut shown, mut from) = (Vec::new(), Some(0));
            while let Some(at) = from {
                let Search { pictures, next, cut, .. } = piece(n, at, limit);
                assert!(!cut && pictures.len() <= limit, "n = {n}");
                shown.extend(pictures);
                from = next;
            }
            let all: Vec<Picture> = Frames::new(n.into(), true).map(Picture::from).collect();
            let json = |pictures: &[Picture]| serde_json::to_string(pictures).expect("JSON");
            assert_eq!(json(&shown), json(&all), "n = {n}");
        }
    }

    #[test]
    fn what_is_shown_of_long_searches_has_an_end() {
        let last = piece(12, MOST_FRAMES - 3, 500);
        assert_eq!((last.pictures.len(), last.next, last.cut), (3, None, true));
        let behind = piece(12, usize::MAX, 500);
        assert_eq!((behind.pictures.len(), behind.next, behind.cut), (0, None, true));
        // The search for n = 8 is available to its end.
        let eight = piece(8, 17_800, 500);
        assert!(eight.pictures.len() > 50 && eight.next.is_none() && !eight.cut);
        // An empty page does not advance, and is not the last one.
        assert_eq!(piece(12, 5, 0).next, Some(5));
    }
}
