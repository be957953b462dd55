//! `queens render`: draws solutions as pictures.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::ValueEnum;
use queens_model::plain::is_plain;
use queens_program::print;
use queens_solver::BoardSize;
use queens_solver::boards::picture::{self, Scale, Style, Theme};
use queens_solver::boards::{Notation, Placement, Solutions, construction};

use crate::confirm::confirm_file;
use crate::flags::{LargeFileArgs, format_of, tile_px, wrong_usage};
use crate::present::file::Target;
use crate::present::raster;

/// The largest board that can be drawn.
const MOST_DRAWN: u32 = 1000;

/// The maximum number of boards on one contact sheet.
const MOST_BOARDS: usize = 2000;

/// Draw a solution, or many on a contact sheet
///
/// Without -o it prints text: Q for a queen and . for an empty square.
#[derive(Debug, clap::Args)]
pub(crate) struct RenderArgs {
    /// Size of the board, 0 to 1000: draws the solution that 'queens solve N' prints
    #[arg(value_name = "N", value_parser = size, allow_negative_numbers = true,
          required_unless_present = "vector", conflicts_with = "vector")]
    n: Option<u32>,

    /// Solution to draw: the column of the queen of each row, both counted from 0, such as "1 3 0 2"
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    vector: Option<Placement>,

    /// Draw all solutions, at most 2000, on one sheet
    #[arg(long, conflicts_with_all = ["vector", "fundamental"])]
    all: bool,

    /// Draw the fundamental solutions, at most 2000, on one sheet: one of each set of rotations and reflections
    #[arg(long, conflicts_with = "vector")]
    fundamental: bool,

    /// File to draw into; its name selects SVG or PNG. '-' is stdout [default: text on stdout]
    #[arg(short = 'o', long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Format of the picture [default: by the name of FILE; svg for '-']
    #[arg(long)]
    format: Option<Picture>,

    /// Width of a square in pixels, 4 to 400 [default: 48; 20 on a contact sheet]
    #[arg(long, value_name = "P", value_parser = tile_px, allow_negative_numbers = true)]
    tile_size: Option<u32>,

    /// Colours of a picture
    #[arg(long, value_name = "COLOURS", default_value = "wood")]
    theme: Colours,

    /// Name the rows and columns of a picture as on chess boards: a, b, … from the left, 1, 2, … from the bottom
    #[arg(long)]
    coordinates: bool,

    /// Text below the picture, which must be an SVG
    #[arg(long, value_name = "TEXT", value_parser = caption)]
    caption: Option<String>,

    #[command(flatten)]
    large: LargeFileArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Colours {
    /// A wooden board
    Wood,
    /// For bright pages
    Light,
    /// For dark pages
    Dark,
    /// Black, white and a grey, for paper
    Print,
}

impl Colours {
    const fn theme(self) -> Theme {
        match self {
            Self::Wood => Theme::WOOD,
            Self::Light => Theme::LIGHT,
            Self::Dark => Theme::DARK,
            Self::Print => Theme::PRINT,
        }
    }
}

/// The longest caption that is readable below a picture.
const LONGEST_CAPTION: usize = 200;

fn caption(text: &str) -> Result<String, String> {
    let is_fine = text.chars().count() <= LONGEST_CAPTION && text.chars().all(is_plain);
    is_fine
        .then(|| text.to_owned())
        .ok_or_else(|| format!("expected a line of at most {LONGEST_CAPTION} visible characters"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Picture {
    #[value(alias = "txt")]
    Text,
    Svg,
    Png,
}

fn size(text: &str) -> Result<u32, String> {
    let size = text.parse().ok().filter(|size| *size <= MOST_DRAWN);
    size.ok_or_else(|| format!("expected a whole number from 0 to {MOST_DRAWN}"))
}

/// The placements to draw.
enum Subject {
    One(Placement),
    Sheet(u32, Vec<Placement>),
}

/// Runs the command and returns its exit status.
pub(crate) fn run(args: &RenderArgs) -> anyhow::Result<ExitCode> {
    let format = match &args.file {
        Some(path) => format_of(path, args.format, ".svg, .png or .txt")?,
        None => args.format.unwrap_or(Picture::Text),
    };
    if format == Picture::Text && (args.coordinates || args.theme != Colours::Wood) {
        return Err(wrong_usage("--coordinates and --theme are for pictures: name one by -o"));
    }
    if format != Picture::Svg && args.caption.is_some() {
        return Err(wrong_usage("a caption is written into SVG alone: name a file .svg by -o"));
    }
    let Some(subject) = subject(args).map_err(wrong_usage)? else {
        bail!("there is no solution for n = {}", args.n.unwrap_or(0));
    };
    let target = Target::new(args.file.as_deref().unwrap_or(Path::new("-")))?;
    let style = Style {
        scale: subject.scale(args.tile_size),
        theme: args.theme.theme(),
        coordinates: args.coordinates,
        caption: args.caption.as_deref(),
    };
    let bytes = match format {
        Picture::Text if args.file.is_none() => {
            print(&subject.text())?;
            return Ok(ExitCode::SUCCESS);
        }
        Picture::Text => format!("{}\n", subject.text()).into_bytes(),
        Picture::Svg => subject.svg(&style).into_bytes(),
        Picture::Png => {
            raster::check_size(subject.size_px(&style))?;
            raster::png(&subject.svg(&style))?
        }
    };
    if !confirm_file(bytes.len(), args.large.yes)? {
        return Ok(ExitCode::FAILURE);
    }
    target.write(&bytes)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the placements to draw; `None` if there is no solution.
fn subject(args: &RenderArgs) -> Result<Option<Subject>, String> {
    if let Some(placement) = &args.vector {
        let n = placement.n();
        let is_small = n <= MOST_DRAWN;
        return if is_small {
            Ok(Some(Subject::One(placement.clone())))
        } else {
            Err(format!("the board has {n} rows: at most {MOST_DRAWN} are drawn"))
        };
    }
    let n = args.n.unwrap_or(0);
    if !args.all && !args.fundamental {
        return Ok(construction(n).map(Subject::One));
    }
    // The first solutions of larger boards in order are hard to find, and too many anyway.
    let too_many = || {
        format!("n = {n} has more than {MOST_BOARDS} such solutions: a contact sheet has no room for them")
    };
    let size = BoardSize::try_from(n).map_err(|_| too_many())?;
    let solutions = Solutions::new(size).filter(|solution| args.all || solution.is_fundamental());
    let drawn: Vec<Placement> = solutions.take(MOST_BOARDS + 1).collect();
    match drawn.len() {
        0 => Ok(None),
        len if len > MOST_BOARDS => Err(too_many()),
        _ => Ok(Some(Subject::Sheet(n, drawn))),
    }
}

/// Default widths of a square.
const TILE_PX: u32 = 48;
const TILE_PX_ON_SHEET: u32 = 20;

impl Subject {
    fn scale(&self, tile_px: Option<u32>) -> Scale {
        let usual = match self {
            Self::One(_) => TILE_PX,
            Self::Sheet(..) => TILE_PX_ON_SHEET,
        };
        Scale { tile: tile_px.unwrap_or(usual) }
    }

    fn svg(&self, style: &Style<'_>) -> String {
        match self {
            Self::One(placement) => picture::board(placement, style),
            Self::Sheet(n, placements) => picture::sheet(*n, placements, style),
        }
    }

    fn size_px(&self, style: &Style<'_>) -> (u32, u32) {
        match self {
            Self::One(placement) => style.board(placement.n()),
            Self::Sheet(n, placements) => style.sheet(*n, placements.len()),
        }
    }

    fn text(&self) -> String {
        let board = |placement: &Placement| placement.written(Notation::Board).to_string();
        match self {
            Self::One(placement) => board(placement),
            Self::Sheet(_, placements) => placements.iter().map(board).collect::<Vec<_>>().join("\n\n"),
        }
    }
}
