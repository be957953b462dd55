//! `queens top`: what is on the screen, how it is drawn, and what keeps it up to date.

pub(crate) mod asking;
pub(crate) mod screen;
pub(crate) mod view;
