//! Animations as GIF files.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::Context;
use gif::{Encoder, Frame as GifFrame, Repeat};
use queens_solver::boards::Queen;
use queens_solver::boards::animation::{Frame, Timing};
use queens_solver::boards::picture::{Look, Scale, empty_board, is_dark, tile};
use resvg::tiny_skia::Pixmap;

use super::raster::draw;

/// The maximum number of colours in a GIF.
const MOST_COLOURS: usize = 256;

type Colour = [u8; 3];

/// Draws the pictures of a search on a board of size `n` as a loop. Each picture after the first holds only the
/// changes.
pub(crate) fn gif(n: u32, frames: &[Frame], scale: Scale, timing: Timing) -> anyhow::Result<Vec<u8>> {
    let board = colours(&draw(&empty_board(n, scale))?);
    let tiles = tiles(scale)?;
    let palette = Palette::new(tiles.values().chain([&board]).flatten());
    let tiles = tiles.iter().map(|(&kind, tile)| (kind, palette.indices(tile)));
    let tiles = Tiles { side: scale.tile as usize, indices: tiles.collect() };
    let side =
        u16::try_from(scale.board(n)).context("the picture is too large: take a smaller --tile-size")?;
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, side, side, &palette.colours.concat())?;
    encoder.set_repeat(Repeat::Infinite)?;
    let mut looks = vec![Look::Empty; (n * n) as usize];
    for (i, frame) in frames.iter().enumerate() {
        for &(queen, look) in &frame.changes {
            looks[(queen.row * n + queen.column) as usize] = look;
        }
        // GIF counts hundredths of a second.
        let delay = u16::try_from(timing.of(frame, i + 1 == frames.len()).div_ceil(10)).unwrap_or(u16::MAX);
        let mut gif_frame = GifFrame { delay, width: side, height: side, ..GifFrame::default() };
        if frame.changes.is_empty() {
            // The empty board: the first picture and, for n = 0, also the solved one.
            gif_frame.buffer = Cow::Owned(palette.indices(&board));
        } else {
            let area = Area::around(&frame.changes);
            let (left, top) = scale.corner(Queen { row: area.top, column: area.left });
            let part = tiles.part(&area, |queen| looks[(queen.row * n + queen.column) as usize]);
            (gif_frame.left, gif_frame.top) = (u16::try_from(left)?, u16::try_from(top)?);
            gif_frame.width = u16::try_from(area.width * scale.tile)?;
            gif_frame.height = u16::try_from(area.height * scale.tile)?;
            gif_frame.buffer = Cow::Owned(part);
        }
        encoder.write_frame(&gif_frame).context("failed to encode the animation")?;
    }
    drop(encoder);
    Ok(bytes)
}

/// Returns the colours of all pixels, row by row; none is transparent.
fn colours(pixmap: &Pixmap) -> Vec<Colour> {
    pixmap.pixels().iter().map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect()
}

/// Returns the colours of a dark and a light square with each look.
fn tiles(scale: Scale) -> anyhow::Result<HashMap<(bool, Look), Vec<Colour>>> {
    let kinds = [false, true].into_iter().flat_map(|dark| Look::ALL.map(|look| (dark, look)));
    kinds.map(|(dark, look)| Ok(((dark, look), colours(&draw(&tile(dark, look, scale))?)))).collect()
}

/// A rectangle of squares.
struct Area {
    left: u32,
    top: u32,
    width: u32,
    height: u32,
}

impl Area {
    /// Returns the smallest area with all changes. There must be at least one.
    fn around(changes: &[(Queen, Look)]) -> Self {
        let rows = || changes.iter().map(|(queen, _)| queen.row);
        let columns = || changes.iter().map(|(queen, _)| queen.column);
        let (left, top) = (columns().min().unwrap_or(0), rows().min().unwrap_or(0));
        let (right, bottom) = (columns().max().unwrap_or(0), rows().max().unwrap_or(0));
        Self { left, top, width: right - left + 1, height: bottom - top + 1 }
    }
}

/// A dark and a light square with each look, as indices into the palette.
struct Tiles {
    side: usize,
    indices: HashMap<(bool, Look), Vec<u8>>,
}

impl Tiles {
    /// Draws part of a board with these looks.
    fn part(&self, area: &Area, look: impl Fn(Queen) -> Look) -> Vec<u8> {
        let mut part = Vec::with_capacity((area.width * area.height) as usize * self.side * self.side);
        for row in area.top..area.top + area.height {
            let squares = (area.left..area.left + area.width).map(|column| Queen { row, column });
            let tiles: Vec<&Vec<u8>> =
                squares.filter_map(|queen| self.indices.get(&(is_dark(queen), look(queen)))).collect();
            for line in 0..self.side {
                for tile in &tiles {
                    part.extend_from_slice(&tile[line * self.side..(line + 1) * self.side]);
                }
            }
        }
        part
    }
}

/// The most frequent colours, and the nearest of them for each colour.
///
/// Areas keep their colours, which are the most frequent. Along the queens' edges, some colours are replaced by
/// neighbours (the popularity algorithm, Heckbert 1982).
struct Palette {
    colours: Vec<Colour>,
    nearest: HashMap<Colour, u8>,
}

impl Palette {
    fn new<'a>(pixels: impl Iterator<Item = &'a Colour>) -> Self {
        let mut uses: HashMap<Colour, usize> = HashMap::new();
        for colour in pixels {
            *uses.entry(*colour).or_default() += 1;
        }
        let mut all: Vec<(usize, Colour)> = uses.into_iter().map(|(colour, uses)| (uses, colour)).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let colours: Vec<Colour> = all.iter().take(MOST_COLOURS).map(|&(_, colour)| colour).collect();
        let nearest = all.iter().map(|&(_, colour)| {
            let index = (0_u8..=u8::MAX).zip(&colours).min_by_key(|(_, other)| distance(colour, **other));
            (colour, index.map_or(0, |(index, _)| index))
        });
        Self { nearest: nearest.collect(), colours }
    }

    fn indices(&self, colours: &[Colour]) -> Vec<u8> {
        colours.iter().map(|colour| self.nearest.get(colour).copied().unwrap_or(0)).collect()
    }
}

fn distance(a: Colour, b: Colour) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
}
