//! Pictures of boards, decoded again; files that are complete or absent.

use std::fs::{self, File};
use std::io::{BufReader, Cursor};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use queens_solver::boards::animation::{Frame, Frames};
use queens_solver::boards::picture::Look;
use queens_solver::boards::{Placement, Queen};
use queens_tests::directory::names;
use queens_tests::prelude::*;
use roxmltree::{Document, Node};

type Colour = [u8; 3];

const LIGHT: Colour = [0xf0, 0xdc, 0xb8];
const DARK: Colour = [0xb5, 0x83, 0x5a];
const INK: Colour = [0x1d, 0x1a, 0x18];

/// Runs `queens` in a directory.
fn in_dir(dir: &Path, args: &str) -> Ended {
    run(queens(args.split(' ')).current_dir(dir))
}

#[track_caller]
fn draw(dir: &Path, args: &str) {
    let outcome = in_dir(dir, args);
    assert_eq!(
        (outcome.status.code(), outcome.stdout.as_str(), outcome.stderr.as_str()),
        (Some(0), "", ""),
        "{outcome:?}"
    );
}

/// A picture with a colour for each pixel.
struct Pixels {
    width: usize,
    colours: Vec<Colour>,
}

impl Pixels {
    fn of_png(path: &Path) -> Self {
        let file = BufReader::new(File::open(path).expect("it is there"));
        let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
        let mut bytes = vec![0; reader.output_buffer_size().expect("it is small")];
        let info = reader.next_frame(&mut bytes).expect("it is whole");
        assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgba, png::BitDepth::Eight));
        let pixels = bytes.chunks_exact(4);
        assert!(pixels.clone().all(|pixel| pixel[3] == 255), "nothing is transparent");
        let colours = pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        Self { width: info.width as usize, colours }
    }

    fn at(&self, (x, y): (u32, u32)) -> Colour {
        self.colours[y as usize * self.width + x as usize]
    }
}

/// Returns a pixel just inside a square's edge, and one in the body of a queen.
fn corner_and_body(tile: u32, queen: Queen) -> [(u32, u32); 2] {
    let (left, top) = (tile.div_ceil(4) + queen.column * tile, tile.div_ceil(4) + queen.row * tile);
    [(left, top), (left + tile / 2, top + tile / 2)]
}

fn shade(queen: Queen) -> Colour {
    if (queen.row + queen.column).is_multiple_of(2) { LIGHT } else { DARK }
}

fn squares(n: u32) -> impl Iterator<Item = Queen> {
    (0..n).flat_map(move |row| (0..n).map(move |column| Queen { row, column }))
}

/// Checks that every square has its shade, and that queens stand exactly where they should.
#[track_caller]
fn check_png(pixels: &Pixels, tile: u32, columns: &[u32]) {
    let n = u32::try_from(columns.len()).expect("small");
    assert_eq!(pixels.width, (n * tile + 2 * tile.div_ceil(4)) as usize);
    assert_eq!(pixels.colours.len(), pixels.width * pixels.width, "it is a square");
    for square in squares(n) {
        let [corner, body] = corner_and_body(tile, square);
        assert_eq!(pixels.at(corner), shade(square), "{square}");
        let far = (corner.0 + tile - 1, corner.1 + tile - 1);
        assert_eq!(pixels.at(far), shade(square), "{square}");
        let expected = if columns[square.row as usize] == square.column { INK } else { shade(square) };
        assert_eq!(pixels.at(body), expected, "{square}");
    }
}

fn columns(text: &str) -> Vec<u32> {
    text.parse::<Placement>().expect("tests draw solutions").columns().to_vec()
}

#[test]
fn a_png_shows_the_board() {
    let temp = TempDir::new();
    let file = temp.join("board.png");
    for n in [1, 4, 8, 25] {
        let solution = columns(&run(queens(["solve", &n.to_string()])).stdout);
        for (size, tile) in [("", 48), (" --tile-size 17", 17), (" --tile-size 33", 33)] {
            draw(temp.path(), &format!("render {n} -o board.png{size}"));
            check_png(&Pixels::of_png(&file), tile, &solution);
        }
    }
    draw(temp.path(), "render --vector 2,0,3,1 -o board.png --tile-size 20");
    check_png(&Pixels::of_png(&file), 20, &[2, 0, 3, 1]);
}

fn attribute(node: Node<'_, '_>, name: &str) -> u32 {
    node.attribute(name).and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} of {node:?}"))
}

/// Returns the queens of a drawing, with positions in pixels.
fn queens_of<'a>(document: &'a Document<'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(|node| node.attribute("href") == Some("#queen"))
}

#[test]
fn an_svg_shows_the_board() {
    for n in [0, 1, 4, 25] {
        let svg = run(queens(["render", &n.to_string(), "-o", "-"])).stdout;
        let document = Document::parse(&svg).expect("XML");
        let root = document.root_element();
        assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
        let side = n * 48 + 24;
        assert_eq!((attribute(root, "width"), attribute(root, "height")), (side, side));
        let found: Vec<(u32, u32)> =
            queens_of(&document).map(|queen| (attribute(queen, "x"), attribute(queen, "y"))).collect();
        let solution = columns(&run(queens(["solve", &n.to_string()])).stdout);
        let expected = (0..).zip(&solution).map(|(row, column)| (12 + 48 * column, 12 + 48 * row));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}

#[test]
fn squares_have_names_in_the_colours_of_a_theme() {
    let temp = TempDir::new();
    for (theme, colours) in [
        ("wood", ["#f0dcb8", "#b5835a", "#1d1a18"]),
        ("light", ["#f7f9fb", "#b9cbdc", "#1b2a38"]),
        ("dark", ["#4d5866", "#2f3843", "#f4d58a"]),
        ("print", ["#ffffff", "#c8c8c8", "#000000"]),
    ] {
        for file in ["b.svg", "b.png"] {
            draw(temp.path(), &format!("render 8 -o {file} --coordinates --theme {theme}"));
        }
        let svg = fs::read_to_string(temp.join("b.svg")).expect("drawn");
        let document = Document::parse(&svg).expect("XML");
        let mut moved = document.descendants().filter_map(|node| node.attribute("transform"));
        let moved = moved.find_map(|transform| transform.strip_prefix("translate(")?.strip_suffix(')'));
        let origin = moved.and_then(|origin| origin.split_once(' '));
        let (left, top): (u32, u32) =
            origin.map(|(x, y)| (x.parse().expect("x"), y.parse().expect("y"))).expect("two numbers");
        let pixels = Pixels::of_png(&temp.join("b.png"));
        let [light, dark, ink] = colours
            .map(|colour| [1, 3, 5].map(|at| u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour")));
        for (square, column) in
            squares(8).map(|square| (square, [1, 3, 5, 7, 2, 0, 6, 4][square.row as usize]))
        {
            let [corner, body] = corner_and_body(48, square).map(|(x, y)| pixels.at((left + x, top + y)));
            let shade = if (square.row + square.column).is_multiple_of(2) { light } else { dark };
            let expected = if square.column == column { ink } else { shade };
            assert_eq!((corner, body), (shade, expected), "{square} by {theme}");
        }
        // A label is left of each row, and below each column.
        let paper = pixels.at((0, 0));
        let is_written = |xs: std::ops::Range<u32>, ys: std::ops::Range<u32>| {
            xs.flat_map(|x| ys.clone().map(move |y| (x, y))).any(|at| pixels.at(at) != paper)
        };
        let height = u32::try_from(pixels.colours.len() / pixels.width).expect("small");
        let board = 8 * 48 + 24;
        for i in 0..8 {
            let from = 12 + 48 * i;
            assert!(is_written(0..left, top + from..top + from + 48), "row {i}");
            assert!(is_written(left + from..left + from + 48, top + board..height), "column {i}");
        }
        assert_eq!(attribute(document.root_element(), "height"), height);
    }
}

#[test]
fn a_caption_stands_below_and_is_no_markup() {
    let caption = "<8> & \"more\"";
    for args in [&["render", "8"][..], &["render", "6", "--all"]] {
        let size = |svg: &str| attribute(Document::parse(svg).expect("XML").root_element(), "height");
        let plain = run(queens(args.iter().chain(&["-o", "-"]))).stdout;
        let svg = run(queens(args.iter().chain(&["-o", "-", "--caption", caption]))).stdout;
        let document = Document::parse(&svg).expect("XML");
        let text = document.descendants().find(|node| node.tag_name().name() == "text");
        let text = text.expect("a caption");
        assert_eq!(text.text(), Some(caption));
        let y: f64 = text.attribute("y").and_then(|y| y.parse().ok()).expect("a place");
        assert!(f64::from(size(&plain)) < y && y < f64::from(size(&svg)), "{y}");
    }
}

#[test]
fn text_is_written_unless_a_picture_is_asked_for() {
    let text = ". Q . .\n. . . Q\nQ . . .\n. . Q .\n";
    assert_eq!(run(queens(["render", "4"])).stdout, text);
    let temp = TempDir::new();
    draw(temp.path(), "render 4 -o board.txt");
    assert_eq!(fs::read_to_string(temp.join("board.txt")).expect("drawn"), text);
    assert_eq!(run(queens(["render", "4", "--all"])).stdout.split("\n\n").count(), 2);
    draw(temp.path(), "render 4 -o other --format png");
    check_png(&Pixels::of_png(&temp.join("other")), 48, &[1, 3, 0, 2]);
}

#[test]
fn a_contact_sheet_shows_all_solutions() {
    let temp = TempDir::new();
    for (args, n_boards, n_columns) in [("8 --all", 92, 10), ("8 --fundamental", 12, 4), ("4 --all", 2, 2)] {
        let n: u32 = args[..1].parse().expect("a digit");
        draw(temp.path(), &format!("render {args} -o sheet.svg --tile-size 12"));
        draw(temp.path(), &format!("render {args} -o sheet.png --tile-size 12"));
        let svg = fs::read_to_string(temp.join("sheet.svg")).expect("drawn");
        let document = Document::parse(&svg).expect("XML");
        let boards = document.descendants().filter(|node| node.attribute("href") == Some("#board"));
        assert_eq!((boards.count(), queens_of(&document).count()), (n_boards, n_boards * n as usize));
        let list = run(queens(format!("list {args}").replace(" --all", "").split(' '))).stdout;
        let pixels = Pixels::of_png(&temp.join("sheet.png"));
        assert_eq!(pixels.width, attribute(document.root_element(), "width") as usize);
        // 12 pixels a square, 3 the frame, 18 between boards.
        let pitch = n * 12 + 6 + 18;
        for (i, solution) in (0..).zip(list.lines().map(columns)) {
            let (left, top) = (18 + i % n_columns * pitch, 18 + i / n_columns * pitch);
            for square in squares(n) {
                let [_, (x, y)] = corner_and_body(12, square);
                let is_queen = solution[square.row as usize] == square.column;
                let expected = if is_queen { INK } else { shade(square) };
                assert_eq!(pixels.at((left + x, top + y)), expected, "{square} of board {i}");
            }
        }
    }
}

#[track_caller]
fn look_of(corner: Colour, body: Colour, square: Queen) -> Look {
    match (corner, body) {
        (shown, body) if shown == shade(square) && body == shown => Look::Empty,
        (shown, INK) if shown == shade(square) => Look::Queen,
        ([red, green, _], INK) if green > red => Look::Safe,
        ([red, green, _], [body_red, ..]) if red > green && body_red < red => Look::Attacked,
        _ => panic!("{square} shows {corner:?} and {body:?}"),
    }
}

/// Compares an animation with the search, frame by frame and square by square.
fn check_gif(bytes: &[u8], n: u32, tile: u32, all: bool) {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(Cursor::new(bytes)).expect("a GIF");
    assert_eq!(decoder.repeat(), gif::Repeat::Infinite);
    let width = usize::from(decoder.width());
    assert_eq!((width, width), ((n * tile + 2 * tile.div_ceil(4)) as usize, usize::from(decoder.height())));
    let mut pixels = Pixels { width, colours: vec![[0; 3]; width * width] };
    let mut looks = vec![Look::Empty; (n * n) as usize];
    let frames: Vec<Frame> = Frames::new(n, all).collect();
    for (i, frame) in frames.iter().enumerate() {
        let drawn = decoder.read_next_frame().expect("it is whole").expect("it has as many pictures");
        let (left, top) = (usize::from(drawn.left), usize::from(drawn.top));
        for (j, pixel) in drawn.buffer.chunks_exact(4).enumerate() {
            let (x, y) = (left + j % usize::from(drawn.width), top + j / usize::from(drawn.width));
            pixels.colours[y * width + x] = [pixel[0], pixel[1], pixel[2]];
        }
        for &(queen, look) in &frame.changes {
            looks[(queen.row * n + queen.column) as usize] = look;
        }
        for square in squares(n) {
            let [corner, body] = corner_and_body(tile, square).map(|at| pixels.at(at));
            let expected = looks[(square.row * n + square.column) as usize];
            assert_eq!(look_of(corner, body, square), expected, "{square} of picture {i}");
        }
        let rests = frame.solved || i + 1 == frames.len();
        assert_eq!(drawn.delay, if rests { 50 } else { 5 }, "picture {i}");
    }
    assert!(decoder.read_next_frame().expect("it is whole").is_none());
}

#[test]
fn a_gif_shows_the_search() {
    let temp = TempDir::new();
    for (n, tile, all) in
        [(0, 20, true), (1, 20, false), (2, 33, false), (4, 48, true), (6, 25, false), (5, 16, true)]
    {
        let all_flag = if all { " --all" } else { "" };
        draw(temp.path(), &format!("animate {n} -o a.gif --tile-size {tile} --delay 50{all_flag}"));
        check_gif(&fs::read(temp.join("a.gif")).expect("drawn"), n, tile, all);
    }
}

/// Returns an attribute's value at each of these times, as a browser computes it from an `animate` element.
fn animated(node: Node<'_, '_>, attribute: &str, times: &[f64]) -> Vec<String> {
    let mut animations = node.children().filter(|child| child.attribute("attributeName") == Some(attribute));
    let animation = animations.next().expect("it moves");
    assert_eq!(animation.attribute("calcMode"), Some("discrete"));
    let list =
        |name| animation.attribute(name).expect("given").split(';').map(str::to_owned).collect::<Vec<_>>();
    let values = list("values");
    let key_times: Vec<f64> = list("keyTimes").iter().map(|time| time.parse().expect("a number")).collect();
    assert_eq!((values.len(), key_times[0]), (key_times.len(), 0.0));
    assert!(
        key_times.is_sorted_by(|a, b| a < b) && key_times.iter().all(|time| *time < 1.0),
        "{key_times:?}"
    );
    times.iter().map(|time| values[key_times.partition_point(|key| key <= time) - 1].clone()).collect()
}

#[test]
fn a_moving_svg_shows_the_search() {
    for (n, all) in [(4, true), (5, false), (6, true)] {
        let mut args = vec!["animate".to_owned(), n.to_string(), "-o".to_owned(), "-".to_owned()];
        args.extend(all.then(|| "--all".to_owned()));
        let svg = run(queens(args)).stdout;
        let document = Document::parse(&svg).expect("XML");
        let frames: Vec<Frame> = Frames::new(n, all).collect();
        let delays: Vec<f64> = (0..)
            .zip(&frames)
            .map(|(i, frame)| if frame.solved || i + 1 == frames.len() { 1.0 } else { 0.1 })
            .collect();
        let seconds: f64 = delays.iter().sum();
        let begins = delays.iter().scan(0.0, |now, delay| {
            let middle = *now + delay / 2.0;
            *now += delay;
            Some(middle / seconds)
        });
        let times: Vec<f64> = begins.collect();
        for square in squares(n) {
            let mut look = Look::Empty;
            let looks: Vec<Look> = frames
                .iter()
                .map(|frame| {
                    let change = frame.changes.iter().find(|(queen, _)| *queen == square);
                    look = change.map_or(look, |&(_, look)| look);
                    look
                })
                .collect();
            let at = |node: &Node<'_, '_>| {
                (attribute(*node, "x"), attribute(*node, "y"))
                    == (12 + 48 * square.column, 12 + 48 * square.row)
            };
            let Some(queen) = queens_of(&document).find(at) else {
                assert!(looks.iter().all(|look| *look == Look::Empty));
                continue;
            };
            let opacity = looks.iter().map(|look| match look {
                Look::Empty => "0",
                Look::Queen | Look::Safe => "1",
                Look::Attacked => "0.4",
            });
            assert_eq!(animated(queen, "opacity", &times), opacity.collect::<Vec<_>>(), "{square}");
            let mark = queen.prev_sibling_element().expect("its mark");
            let marked = animated(mark, "fill", &times);
            for (fill, look) in marked.iter().zip(&looks) {
                let is_marked = matches!(look, Look::Safe | Look::Attacked);
                assert_eq!(fill != "none", is_marked, "{square} is {fill} as {look:?}");
            }
        }
    }
}

#[test]
fn the_plot_is_drawn_beside_the_table() {
    let temp = TempDir::new();
    let outcome = in_dir(temp.path(), "table 4-8 --method bitmask,kernel --plot plot.svg");
    assert_eq!((outcome.status.code(), outcome.stdout.lines().count()), (Some(0), 6), "{outcome:?}");
    let svg = fs::read_to_string(temp.join("plot.svg")).expect("drawn");
    let document = Document::parse(&svg).expect("XML");
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    for text in ["board size n", "time (logarithmic)", "bitmask", "kernel", "4", "8"] {
        assert!(texts.contains(&text), "'{text}' is not in {texts:?}");
    }
    let lines = document.descendants().filter_map(|node| node.attribute("points"));
    assert!(lines.clone().all(|points| points.split(' ').count() == 5), "five sizes");
    assert_eq!(lines.count(), 2);
    // Only the plot on stdout, without the table.
    let svg = in_dir(temp.path(), "table 1-4 --method bitmask --plot -").stdout;
    Document::parse(&svg).expect("XML");
}

#[test]
fn what_can_not_be_written_is_named_and_nothing_stays_behind() {
    let temp = TempDir::new();
    fs::write(temp.join("old.png"), "precious").expect("writable");
    fs::create_dir(temp.join("dir.svg")).expect("writable");
    for (args, what) in [
        ("render 8 -o missing/board.svg", "'missing/board.svg': there is no directory 'missing'"),
        ("render 8 -o dir.svg", "'dir.svg'"),
        ("render 8 -o old.png/board.svg", "'old.png/board.svg'"),
        ("animate 5 -o missing/a.gif", "'missing/a.gif'"),
        ("table 1-4 --plot missing/plot.svg", "'missing/plot.svg'"),
        ("render 1000 -o old.png", "take a smaller --tile-size"),
        ("animate 32 -o old.gif --tile-size 400", "take a smaller --tile-size"),
        ("render 3 -o old.png", "no solution for n = 3"),
        ("render 2 --all -o old.png", "no solution for n = 2"),
    ] {
        let outcome = in_dir(temp.path(), args);
        let complaint = outcome.complaint(1);
        assert!(complaint.contains(what), "'{what}' is not in: {complaint}");
        assert_eq!(names(temp.path()), ["dir.svg", "old.png"], "{args}");
        assert_eq!(fs::read(temp.join("old.png")).expect("still there"), b"precious");
    }
}

#[test]
fn a_file_that_would_be_large_is_written_only_if_that_is_meant() {
    let temp = TempDir::new();
    let outcome = in_dir(temp.path(), "animate 20 -o large.gif --tile-size 200");
    let complaint = outcome.complaint(2);
    let megabytes =
        complaint.strip_prefix("error: the file would have some ").and_then(|rest| rest.split_once(" MB"));
    let (megabytes, rest) = megabytes.expect(complaint);
    // It has 100 MB, which take long to draw.
    assert!((50..200).contains(&megabytes.parse::<u32>().expect("a number")), "{complaint}");
    assert!(rest.contains("--yes"), "{complaint}");
    assert_eq!(names(temp.path()), [""; 0]);
}

#[test]
fn files_are_replaced_whole_and_keep_their_permissions_and_links() {
    let temp = TempDir::new();
    draw(temp.path(), "render 4 -o new.svg");
    let mode = |name: &str| fs::metadata(temp.join(name)).expect("there").mode() & 0o777;
    File::create(temp.join("usual")).expect("writable");
    assert_eq!(mode("new.svg"), mode("usual"), "like any new file");
    symlink("new.svg", temp.join("link.svg")).expect("linked");
    let before = fs::read(temp.join("new.svg")).expect("there");
    draw(temp.path(), "render 5 -o link.svg");
    assert!(fs::symlink_metadata(temp.join("link.svg")).expect("there").is_symlink());
    assert_ne!(fs::read(temp.join("new.svg")).expect("there"), before);
    assert_eq!(names(temp.path()), ["link.svg", "new.svg", "usual"]);
    // A device is written to, and not replaced.
    draw(temp.path(), "render 5 -o /dev/null --format svg");
    assert!(!fs::metadata("/dev/null").expect("there").is_file());
    let outcome = in_dir(temp.path(), "render 5 -o /dev/stdout --format svg");
    assert!(outcome.stdout.starts_with("<svg") && outcome.status.success(), "{outcome:?}");
    assert!(fs::symlink_metadata("/dev/stdout").expect("there").is_symlink());
}
