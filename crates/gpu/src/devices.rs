//! The cards of a machine: their names, and which of them a user chooses.

use std::str::FromStr;

use queens_platform::CAN_LOAD_LIBRARIES;
use queens_solver::BoardSize;
use thiserror::Error;

use crate::card::Card;
use crate::card_id::{CardId, CardInfo, InvalidCardId};
use crate::cuda::{self, Cuda};
use crate::device::{CardError, Device};
use crate::opencl::{self, OpenCl};
use crate::sensors::driver_version;
use crate::shape::Shape;

/// A user's choice of cards: `all`, `auto`, `none`, or names such as `cuda:0,cuda:1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenCards {
    all: bool,
    /// Whether there need not be any.
    auto: bool,
    named: Vec<CardId>,
}

/// Why cards can't be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidCards {
    /// The text names no card.
    #[error(transparent)]
    Name(#[from] InvalidCardId),
    /// No such card is here.
    #[error("there is no card {0} here; `queens gpus` lists those that are")]
    Absent(CardId),
    /// A card is named twice.
    #[error("{0} is named twice")]
    Twice(CardId),
    /// No card is here.
    #[error("no graphics card is here, or its driver is missing; `queens gpus` says more")]
    None,
}

impl FromStr for ChosenCards {
    type Err = InvalidCards;

    fn from_str(text: &str) -> Result<Self, InvalidCards> {
        let mut chosen =
            Self { all: ["all", "auto"].contains(&text), auto: text == "auto", named: Vec::new() };
        for name in text.split(',').filter(|_| !["all", "auto", "none"].contains(&text)) {
            let id = name.parse()?;
            if chosen.named.contains(&id) {
                return Err(InvalidCards::Twice(id));
            }
            chosen.named.push(id);
        }
        Ok(chosen)
    }
}

impl ChosenCards {
    /// Returns whether the user leaves it to the program if cards count.
    #[must_use]
    pub const fn is_auto(&self) -> bool {
        self.auto
    }

    /// Returns the chosen cards.
    ///
    /// # Errors
    /// If one of them is not here, or if all are chosen and there is none.
    pub fn here(&self) -> Result<Vec<CardId>, InvalidCards> {
        if !self.all && self.named.is_empty() {
            return Ok(Vec::new());
        }
        let here = cards();
        if self.all {
            let all: Vec<CardId> =
                here.iter().filter(|card| card.not_in_all.is_none()).map(|card| card.id).collect();
            return if all.is_empty() && !self.auto { Err(InvalidCards::None) } else { Ok(all) };
        }
        match self.named.iter().find(|id| here.iter().all(|card| card.id != **id)) {
            Some(absent) => Err(InvalidCards::Absent(*absent)),
            None => Ok(self.named.clone()),
        }
    }
}

impl CardId {
    /// Returns whether cards count boards of size `n`: 12 to 29.
    #[must_use]
    pub fn counts(n: BoardSize) -> bool {
        Shape::of(n.get()).is_some()
    }

    /// Opens the card for boards of size `n`, with a share of its memory, one `share`th. Compiling the kernels for the
    /// card takes up to some seconds, once for a driver that keeps them.
    ///
    /// # Errors
    /// If there is no such card, the driver refuses it, or cards do not count such boards.
    pub fn open(self, n: BoardSize, share: u64) -> Result<Card, CardError> {
        let shape = Shape::of(n.get()).ok_or(CardError::BoardSize)?;
        if !CAN_LOAD_LIBRARIES {
            return Err(CardError::Driver(
                "this program is linked statically and can't load a driver".to_owned(),
            ));
        }
        let device: Box<dyn Device> = match self {
            Self::Cuda(number) => Box::new(Cuda::open(number, shape, share)?),
            Self::OpenCl(number) => Box::new(OpenCl::open(number, shape, share)?),
        };
        Ok(Card::new(device, shape))
    }
}

/// Returns all cards of this machine: first NVIDIA's, then the devices of OpenCL. Without their drivers, none.
#[must_use]
pub fn cards() -> Vec<CardInfo> {
    if !CAN_LOAD_LIBRARIES {
        return Vec::new();
    }
    let mut cards = cuda::cards();
    if !cards.is_empty()
        && let Some(version) = driver_version()
    {
        cards.iter_mut().for_each(|card| card.driver = format!("{}, {version}", card.driver));
    }
    cards.extend(opencl::cards());
    cards
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_named_by_driver_and_number() {
        for text in ["cuda:0", "opencl:12"] {
            assert_eq!(text.parse::<CardId>().map(|id| id.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("none".parse(), Ok(ChosenCards::default()));
        let chosen: ChosenCards = "cuda:200".parse().expect("a choice");
        assert_eq!(chosen.here(), Err(InvalidCards::Absent(CardId::Cuda(200))));
        assert_eq!(ChosenCards::default().here(), Ok(Vec::new()));
        for text in ["cuda", "cuda:", "cuda:-1", "cuda:256", "metal:0", ""] {
            assert_eq!(text.parse::<CardId>(), Err(InvalidCardId), "{text}");
            assert_eq!(text.parse::<ChosenCards>(), Err(InvalidCards::Name(InvalidCardId)), "{text}");
        }
    }
}
