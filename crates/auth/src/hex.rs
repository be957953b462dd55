//! Hexadecimal encoding of bytes.

use std::fmt::Write;

/// Encodes bytes as two lower-case digits each.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string can't fail.
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// Decodes 64 digits of either case; `None` for another text.
pub(crate) fn from_hex(text: &str) -> Option<[u8; 32]> {
    let (digits, mut bytes) = (text.as_bytes(), [0; 32]);
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}
