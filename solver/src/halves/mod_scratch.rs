mod lines; mod vectors; mod geometry; mod placements; mod shape; mod lower; mod upper; mod leaf; mod join; mod avx512;
#[path = "/tmp/fast/eng/src/driver.rs"]
pub mod driver;
