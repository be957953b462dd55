//! Random mutations of inputs.

use queens_solver::SplitMix;

/// The most changes of one input.
const MOST_CHANGES: usize = 5;

/// Bytes at boundaries: ends of ranges, and separators of texts.
const TELLING: &[u8] = &[0, 1, 0x7f, 0x80, 0xff, b'0', b'9', b'-', b',', b':', b'"', b'\t', b'\n', b' '];

/// Returns an input with some random changes, at most `longest` bytes long.
pub(crate) fn mutate(random: &mut SplitMix, inputs: &[Vec<u8>], longest: usize) -> Vec<u8> {
    let mut input = inputs[random.below(inputs.len())].clone();
    for _ in 0..=random.below(MOST_CHANGES) {
        let other = &inputs[random.below(inputs.len())];
        change(random, &mut input, other);
    }
    input.truncate(longest);
    input
}

fn change(random: &mut SplitMix, input: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(input.len() + 1);
    let end = at + random.below((input.len() - at).min(64) + 1);
    let telling = TELLING[random.below(TELLING.len())];
    match random.below(8) {
        0 => input.truncate(at),
        1 => drop(input.drain(at..end)),
        2 => input.insert(at, telling),
        3 => {
            let copy = input[at..end].to_vec();
            input.splice(at..at, copy);
        }
        4 => {
            let from = random.below(other.len() + 1);
            let until = from + random.below((other.len() - from).min(256) + 1);
            input.splice(at..end, other[from..until].iter().copied());
        }
        5 => input[at..end].reverse(),
        6 => input[at..end].fill(telling),
        _ => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
    }
}
