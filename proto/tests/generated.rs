//! What is generated from the `.proto` file, without `protoc`, is what is checked in. It is checked in because generating
//! takes a fifth of the time of a first build: crates that nothing else needs.
//!
//! After a change of the `.proto` file: `QUEENS_GENERATE=1 cargo test -p queens-proto --test generated`.

use std::env;
use std::fs;
use std::path::Path;

use prost::Message;

#[test]
fn what_is_checked_in_is_generated_from_the_proto_file() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = tempfile::tempdir().expect("a temporary directory");
    let descriptors =
        protox::compile(["queens/v1/queens.proto"], [crate_dir.join("proto")]).expect("a proto file");
    // For the reflection service.
    fs::write(made.path().join("descriptors.bin"), descriptors.encode_to_vec()).expect("written");
    tonic_prost_build::configure().out_dir(made.path()).compile_fds(descriptors).expect("generated");
    for name in ["queens.v1.rs", "descriptors.bin"] {
        let (made, kept) = (made.path().join(name), crate_dir.join("src/generated").join(name));
        let made = fs::read(made).expect("it was generated");
        if env::var_os("QUEENS_GENERATE").is_some() {
            fs::write(&kept, &made).expect("written");
        }
        let is_same = fs::read(&kept).is_ok_and(|kept| kept == made);
        assert!(is_same, "{} is not what the .proto file says: see the top of this file", kept.display());
    }
}
