//! `queens top`: what is on the screen, how it is drawn, what keys do to it, and what keeps it up to date.

mod action;
mod cluster;
mod filter;
mod form;
mod input;
mod keys;
pub(crate) mod poller;
#[cfg(test)]
mod sample;
pub(crate) mod screen;
mod selection;
pub(crate) mod view;
