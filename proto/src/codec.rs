//! The gRPC codec, which limits the elements of a worker's message before it decodes them.
//!
//! In protobuf, an empty element takes two bytes; decoded, it takes up to eighty. A message of 16 MiB with eight
//! million of them would take as much as a gigabyte before its elements could be counted. So the codec counts the
//! elements of workers' messages before it decodes them.

use std::any::TypeId;
use std::marker::PhantomData;

use prost::Message;
use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use tonic::Status;
use tonic::codec::{BufferSettings, Codec as TonicCodec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

use crate::convert::{MOST_DELTAS, MOST_HELD, MOST_SPANS_HELD};
use crate::pb;

/// The largest report, in bytes.
const LARGEST_REPORT: usize = 2 << 20;

/// The buffer of each direction of a session, in bytes, until a larger message is sent. There are many sessions, with
/// short messages.
const BUFFER: usize = 1 << 10;

/// The threshold above which waiting messages are flushed, in bytes.
const AT_ONCE: usize = 32 << 10;

/// The repeated fields of a worker's message that may be large: the path of field numbers, the most elements, and their
/// name.
const PARTS: [(&[u32], usize, &str); 3] = [
    (&[1, 9], MOST_HELD, "held leases"),
    (&[1, 9, 3], MOST_SPANS_HELD, "held spans"),
    (&[2, 2], MOST_DELTAS, "deltas"),
];

/// Encodes `T` and decodes `U`; a worker's message only if it has not too many elements.
#[derive(Debug)]
pub struct Codec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Codec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> TonicCodec for Codec<T, U>
where
    T: Message + 'static,
    U: Message + Default + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = Counting<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::raw_encoder(buffers())
    }

    fn decoder(&mut self) -> Self::Decoder {
        Counting(ProstDecoder::new(buffers()))
    }
}

fn buffers() -> BufferSettings {
    BufferSettings::new(BUFFER, AT_ONCE)
}

/// Decodes messages that have not too many elements.
#[derive(Debug)]
pub struct Counting<U>(ProstDecoder<U>);

impl<U: Message + Default + 'static> Decoder for Counting<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, bytes: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        if TypeId::of::<U>() == TypeId::of::<pb::WorkerMessage>() {
            // A message is always contiguous.
            if bytes.chunk().len() < bytes.remaining() {
                return Err(Status::internal("a message in pieces"));
            }
            count_parts(bytes.chunk())?;
        }
        self.0.decode(bytes)
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.0.buffer_settings()
    }
}

/// Checks that a worker's message has not too many elements. Malformed messages pass: decoding fails at the same place.
///
/// # Errors
/// If it has too many.
pub fn count_parts(bytes: &[u8]) -> Result<(), Status> {
    let mut n_of_reports = 0;
    walk(bytes, &[2], &mut |report| n_of_reports += report.len());
    let exceeds =
        |what: &str, most: usize| Status::out_of_range(format!("more than {most} {what} in a message"));
    if n_of_reports > LARGEST_REPORT {
        return Err(exceeds("bytes of a report", LARGEST_REPORT));
    }
    for (path, most, what) in PARTS {
        let mut n_parts = 0;
        walk(bytes, path, &mut |_| n_parts += 1);
        if n_parts > most {
            return Err(exceeds(what, most));
        }
    }
    Ok(())
}

/// Visits all elements at the end of a path, until the bytes are malformed.
fn walk(mut bytes: &[u8], path: &[u32], visit: &mut impl FnMut(&[u8])) {
    let Some((first, rest)) = path.split_first() else { return visit(bytes) };
    while !bytes.is_empty() {
        let Ok((tag, wire)) = decode_key(&mut bytes) else { return };
        if tag != *first || wire != WireType::LengthDelimited {
            if skip_field(wire, tag, &mut bytes, DecodeContext::default()).is_err() {
                return;
            }
            continue;
        }
        let length = decode_varint(&mut bytes).ok().and_then(|length| usize::try_from(length).ok());
        let Some((part, after)) = length.and_then(|length| bytes.split_at_checked(length)) else { return };
        walk(part, rest, visit);
        bytes = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message with this many empty elements at the end of a path.
    fn of_empty(path: &[u32], n_parts: usize) -> Vec<u8> {
        let Some((last, before)) = path.split_last() else { panic!("an empty path") };
        let key = |tag: u32| u8::try_from(tag << 3 | 2).expect("a small tag");
        let mut bytes = [key(*last), 0].repeat(n_parts);
        for tag in before.iter().rev() {
            let mut around = vec![key(*tag)];
            prost::encoding::encode_varint(bytes.len() as u64, &mut around);
            around.extend(bytes);
            bytes = around;
        }
        bytes
    }

    #[test]
    fn what_has_too_many_parts_is_not_decoded() {
        for (path, most, what) in PARTS {
            let allowed = of_empty(path, most);
            assert!(pb::WorkerMessage::decode(&*allowed).is_ok(), "{what}");
            count_parts(&allowed).expect("as many as may be");
            let refusal = count_parts(&of_empty(path, most + 1)).expect_err("one more");
            assert_eq!(refusal.message(), format!("more than {most} {what} in a message"));
            // Two concatenated halves of a message are one message.
            let half = of_empty(path, most / 2 + 1);
            count_parts(&half).expect("half");
            count_parts(&[half.clone(), half].concat()).expect_err("two halves");
        }
    }

    #[test]
    fn a_report_is_no_larger_than_it_may_be() {
        // Each byte of packed numbers is one finished lease.
        let report = |n: usize| {
            let report = pb::Report { sequence: 1, deltas: Vec::new(), finished: vec![1; n] };
            pb::WorkerMessage { message: Some(pb::worker_message::Message::Report(report)) }.encode_to_vec()
        };
        count_parts(&report(65_536)).expect("as many as may be");
        count_parts(&report(LARGEST_REPORT)).expect_err("more");
    }

    #[test]
    fn what_makes_no_sense_is_left_to_the_decoder() {
        for bytes in [&[0x0a][..], &[0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f], &[0x0b], &[0xff; 20], &[]] {
            count_parts(bytes).expect("nothing to count");
        }
    }
}
