//! counting threads
