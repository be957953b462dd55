//! `queens top`: what is on the screen, how it is drawn, what keys do to it, and what keeps it up to date.

mod action;
pub(crate) mod asking;
mod cluster;
mod filter;
mod form;
mod input;
mod keys;
#[cfg(test)]
mod sample;
pub(crate) mod screen;
mod selection;
pub(crate) mod view;
