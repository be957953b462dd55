//! Output of answers: text, JSON, tables, pictures, and progress.

pub(crate) mod answer;
pub(crate) mod bench_answer;
pub(crate) mod certificate;
pub(crate) mod file;
pub(crate) mod gif;
pub(crate) mod job;
pub(crate) mod notation;
pub(crate) mod plot;
pub(crate) mod progress;
pub(crate) mod raster;
pub(crate) mod table;
pub(crate) mod work;
