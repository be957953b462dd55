//! Tests that no file makes the reader panic or take long, and that each change of a file is noticed.

use std::io::Cursor;
use std::num::NonZeroUsize;
use std::str;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use queens_certificate::{Options, Part, Refusal, Report, check, merge};
use queens_solver::{Kernel, Method, SplitMix};

use crate::draft::{Draft, key, pack, part, plan, second, unpack};
use crate::kinds::plan_len;
use crate::reader;

/// A certificate with lines of every kind, packed and as text.
static SOUND: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let first = plan(8, Method::Search);
    let part = part(&[&first, &second(&first)], 0..plan_len(8), key(1));
    assert!(!part.places("again").is_empty() && !part.places("verdict").is_empty());
    let packed = Draft { parts: vec![part] }.pack();
    let text = unpack(&packed);
    (packed, text)
});

fn options(stop: &AtomicBool) -> Options<'_> {
    Options {
        keys: &[],
        sample: None,
        long: false,
        kernel: Kernel::best(),
        n_threads: NonZeroUsize::MIN,
        stop,
    }
}

fn checked(file: &[u8]) -> Result<Report, Refusal> {
    check(file, &options(&AtomicBool::new(false)), &|_| {})
}

/// Runs every operation on a file.
fn use_all(file: &[u8]) {
    _ = checked(file);
    let part = |name: &str| Part { name: name.to_owned(), file: Cursor::new(file) };
    _ = merge(vec![part("a"), part("b")], Vec::new(), &options(&AtomicBool::new(false)), &|_| {});
}

/// Generates a line of a known kind, with valid or invalid fields.
fn line() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        "queens certificate",
        "part",
        "board",
        "crosses",
        "job",
        "pass",
        "symmetric",
        "made",
        "signer",
        "counter",
        "cross",
        "record",
        "again",
        "verdict",
        "total",
        "tree",
        "signature",
        "x",
        "",
    ]);
    let field = prop_oneof![
        Just("0".to_owned()),
        Just("1".to_owned()),
        Just("search".to_owned()),
        Just("halves".to_owned()),
        any::<u64>().prop_map(|number| number.to_string()),
        any::<u128>().prop_map(|number| number.to_string()),
        (0_u32..40).prop_map(|number| number.to_string()),
        Just("ab".repeat(32)),
        "\\PC{0,9}",
    ];
    let fields = prop::collection::vec(field, 0..14);
    (kind, fields).prop_map(|(kind, fields)| [&[kind.to_owned()], &fields[..]].concat().join("\t"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        use_all(&bytes);
        use_all(&pack(&bytes));
    }

    #[test]
    fn lines_do_no_harm(lines in prop::collection::vec(line(), 0..30)) {
        let text = lines.join("\n");
        use_all(&pack(text.as_bytes()));
        use_all(&pack(format!("queens certificate\t2\t1\n{text}\n").as_bytes()));
    }

    /// A change of the packed data may leave the text unchanged, which is harmless.
    #[test]
    fn a_changed_byte_of_the_file_is_noticed_or_changes_nothing(at in any::<prop::sample::Index>(), by in 1..=255_u8) {
        let mut file = SOUND.0.clone();
        let at = at.index(file.len());
        file[at] ^= by;
        prop_assert!(checked(&file).is_err() || unpack(&file) == SOUND.1);
    }

    /// Every byte of the text is summed, hashed or signed.
    #[test]
    fn a_changed_byte_of_the_text_is_noticed(at in any::<prop::sample::Index>(), by in 1..=255_u8) {
        let mut text = SOUND.1.clone();
        let at = at.index(text.len());
        text[at] ^= by;
        prop_assert!(checked(&pack(&text)).is_err(), "byte {at}");
    }

    #[test]
    fn a_changed_text_does_no_harm(
        cut in any::<prop::sample::Index>(), other in any::<prop::sample::Index>(), line in line(),
    ) {
        let text = str::from_utf8(&SOUND.1).expect("UTF-8");
        let mut lines: Vec<&str> = text.lines().collect();
        let (at, from) = (cut.index(lines.len()), other.index(lines.len()));
        lines[at] = &line;
        use_all(&pack((lines.join("\n") + "\n").as_bytes()));
        lines[at] = lines[from];
        use_all(&pack((lines.join("\n") + "\n").as_bytes()));
        use_all(&pack((lines[..at].join("\n") + "\n").as_bytes()));
    }
}

#[test]
fn a_changed_byte_is_noticed_by_the_independent_reader() {
    let mut random = SplitMix::new(1);
    let mut changed = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
        bytes
    };
    let files: Vec<Vec<u8>> = (0..32).flat_map(|_| [changed(&SOUND.0), pack(&changed(&SOUND.1))]).collect();
    let hold: Vec<bool> = files.iter().map(|file| checked(file).is_ok()).collect();
    assert!(hold.iter().skip(1).step_by(2).all(|holds| !holds), "{hold:?}");
    assert_eq!(reader::accepts(&files, &[]).unwrap_or_else(|| hold.clone()), hold);
}

#[test]
fn what_is_not_changed_holds() {
    checked(&SOUND.0).expect("it holds");
    checked(&pack(&SOUND.1)).expect("it holds");
}
