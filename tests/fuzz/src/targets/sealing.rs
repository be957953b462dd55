//! Seals the texts of certificates, by the definition of the seal.

#[path = "../../../../crates/certificate/tests/forgeries/draft.rs"]
#[allow(dead_code, reason = "forgeries make drafts as well")]
mod draft;

use draft::{Draft, Part, key};

pub(super) use draft::{pack, unpack};

/// Returns the file of a text whose parts get a valid tree and signature and, if asked, valid sums. `None` if no part
/// has fields for them.
pub(super) fn sealed(text: &str, with_sums: bool) -> Option<Vec<u8>> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.lines().skip(1) {
        if line.starts_with("part\t") || parts.is_empty() {
            parts.push(Part { lines: Vec::new(), key: key(1) });
        }
        parts.last_mut()?.lines.push(line.to_owned());
    }
    for part in &mut parts {
        let [signer, total, tree] =
            ["signer", "total", "tree"].map(|kind| part.places(kind).first().copied());
        let (signer, total, tree) = (signer?, total?, tree?);
        let is_in_order = signer < total && total < tree && tree + 1 < part.lines.len();
        if !is_in_order || !part.lines[signer].contains('\t') || with_sums && !can_be_summed(part) {
            return None;
        }
        if with_sums {
            part.sum();
        }
        part.seal();
    }
    (!parts.is_empty()).then(|| Draft { parts }.pack())
}

/// Whether all terms of the sums exist and are small enough.
fn can_be_summed(part: &Part) -> bool {
    let has_numbers = |line: &String| {
        let fields: Vec<&str> = line.split('\t').collect();
        let fields = match fields[..] {
            // The last field of format 2 is not a number.
            ["cross", ..] if fields.len() == 9 => &fields[..8],
            _ => &fields,
        };
        let n_fields = match fields[0] {
            "cross" => 8,
            "record" => 9,
            "total" => 5,
            _ => return true,
        };
        let is_number = |field: &&str| field.len() <= 18 && field.parse::<u64>().is_ok();
        fields.len() == n_fields && fields[1..].iter().all(is_number)
    };
    part.lines.iter().all(has_numbers)
}
