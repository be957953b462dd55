//! Renders SVG drawings as pixels.

use anyhow::{Context, ensure};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// The maximum number of pixels in a picture, which takes 400 MB while it is drawn.
const MOST_PIXELS: u64 = 100_000_000;

/// Checks that a picture of this size can be drawn.
pub(crate) fn check_size((width, height): (u32, u32)) -> anyhow::Result<()> {
    ensure!(
        u64::from(width) * u64::from(height) <= MOST_PIXELS,
        "a picture of {width} x {height} pixels is too large: take a smaller --tile-size, or SVG"
    );
    Ok(())
}

/// Renders an SVG.
pub(crate) fn draw(svg: &str) -> anyhow::Result<Pixmap> {
    let tree = Tree::from_str(svg, &Options::default()).context("failed to read our own drawing")?;
    let size = tree.size().to_int_size();
    let mut pixmap =
        Pixmap::new(size.width(), size.height()).context("failed to make room for the picture")?;
    resvg::render(&tree, Transform::identity(), &mut pixmap.as_mut());
    Ok(pixmap)
}

/// Renders an SVG into a PNG file.
pub(crate) fn png(svg: &str) -> anyhow::Result<Vec<u8>> {
    draw(svg)?.encode_png().context("failed to encode the picture")
}
