//! Generates the checked-in code of this crate from its `.proto` file, and tests that it is up to date.
//!
//! It needs no `protoc`. The code is checked in because generating needs some thirty crates that nothing else needs,
//! and users wait for the first build.
//!
//! After a change of that file, before one of the conversions: `QUEENS_GENERATE=1 cargo test -p queens-proto --test
//! generated`.

use std::env;
use std::fs;
use std::path::Path;

use prost::Message;

#[test]
fn what_is_checked_in_is_generated_from_the_proto_file() {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = tempfile::tempdir().expect("a temporary directory");
    let descriptors =
        protox::compile(["queens/v1/queens.proto"], [proto.join("proto")]).expect("a proto file");
    // For the reflection service.
    fs::write(made.path().join("descriptors.bin"), descriptors.encode_to_vec()).expect("written");
    let made_so = tonic_prost_build::configure().codec_path("crate::codec::Codec").out_dir(made.path());
    made_so.compile_fds(descriptors).expect("generated");
    for name in ["queens.v1.rs", "descriptors.bin"] {
        let (made, kept) = (made.path().join(name), proto.join("src/generated").join(name));
        let made = fs::read(made).expect("it was generated");
        if env::var_os("QUEENS_GENERATE").is_some() {
            fs::write(&kept, &made).expect("written");
        }
        let is_same = fs::read(&kept).is_ok_and(|kept| kept == made);
        assert!(is_same, "{} is not what the .proto file says: see proto/tests/generated.rs", kept.display());
    }
}
