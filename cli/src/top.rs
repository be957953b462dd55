//! `queens top`: the screen's state, its drawing, and the requests that update it.

pub(crate) mod action;
mod list;
pub(crate) mod requests;
pub(crate) mod screen;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod view;
