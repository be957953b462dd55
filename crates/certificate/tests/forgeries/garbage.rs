//! Tests that no file makes the reader panic or take long, and that each change of a file is noticed.

use std::io::Cursor;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use std::{fs, str};

use proptest::prelude::*;
use queens_certificate::{Options, Part, Refusal, Report, check, merge};
use queens_solver::Kernel;

use crate::draft::{pack, unpack};
use crate::reader;

/// The certificate in the repository, packed and as text.
static REAL: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../records/q16.certificate"));
    let packed = fs::read(file).expect("readable");
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
        let mut file = REAL.0.clone();
        let at = at.index(file.len());
        file[at] ^= by;
        prop_assert!(checked(&file).is_err() || unpack(&file) == REAL.1);
    }

    /// Every byte of the text is summed, hashed or signed.
    #[test]
    fn a_changed_byte_of_the_text_is_noticed(at in any::<prop::sample::Index>(), by in 1..=255_u8) {
        let mut text = REAL.1.clone();
        let at = at.index(text.len());
        text[at] ^= by;
        prop_assert!(checked(&pack(&text)).is_err(), "byte {at}");
    }
}

proptest! {
    // Each case makes the plan of a real board a dozen times, or starts Python.
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_changed_byte_is_noticed_by_the_independent_reader(at in any::<prop::sample::Index>(), by in 1..=255_u8) {
        let (mut file, mut text) = REAL.clone();
        let (in_file, in_text) = (at.index(file.len()), at.index(text.len()));
        file[in_file] ^= by;
        text[in_text] ^= by;
        for file in [file, pack(&text)] {
            let is_right = checked(&file).is_ok();
            prop_assert_eq!(reader::accepts(&file, &[], false).unwrap_or(is_right), is_right);
        }
    }

    #[test]
    fn a_changed_text_does_no_harm(
        cut in any::<prop::sample::Index>(), other in any::<prop::sample::Index>(), line in line(),
    ) {
        let text = str::from_utf8(&REAL.1).expect("UTF-8");
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
fn what_is_not_changed_holds() {
    checked(&REAL.0).expect("it holds");
    checked(&pack(&REAL.1)).expect("it holds");
}
