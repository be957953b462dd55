//! `queens top`: the screen's state, its drawing, its keys, and the poller that updates it.

mod action;
mod cluster;
mod filter;
mod form;
mod input;
mod keys;
pub(crate) mod poller;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod screen;
mod selection;
pub(crate) mod view;
