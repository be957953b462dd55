//! The gRPC codec: protobuf, with small buffers.

use std::marker::PhantomData;

use prost::Message;
use tonic::codec::{BufferSettings, Codec as TonicCodec};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

/// The buffer of each direction of a session, in bytes, until a larger message is sent. There are many sessions, with
/// short messages.
const BUFFER: usize = 1 << 10;

/// The threshold above which waiting messages are flushed, in bytes.
const AT_ONCE: usize = 32 << 10;

/// Encodes `T` and decodes `U`.
#[derive(Debug)]
pub(crate) struct Codec<T, U>(PhantomData<(T, U)>);

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
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::raw_encoder(BufferSettings::new(BUFFER, AT_ONCE))
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstCodec::<T, U>::raw_decoder(BufferSettings::new(BUFFER, AT_ONCE))
    }
}
