//! Names of cards.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A card, by its driver and its number there. It is written as `cuda:0` or `opencl:1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CardId {
    /// One of NVIDIA's cards, by CUDA.
    Cuda(u8),
    /// A device of OpenCL, processors included.
    OpenCl(u8),
}

/// A card as its driver describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardInfo {
    /// How users choose it.
    pub id: CardId,
    /// Its name.
    pub name: String,
    /// Its memory, in bytes.
    pub memory: u64,
    /// Its driver, with a version where that is known.
    pub driver: String,
    /// Why it is none of `all`; `None` if it is one.
    pub not_in_all: Option<&'static str>,
}

/// A text that names no card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a card, such as cuda:0 or opencl:0; `queens gpus` lists them")]
pub struct InvalidCardId;

impl FromStr for CardId {
    type Err = InvalidCardId;

    fn from_str(text: &str) -> Result<Self, InvalidCardId> {
        let (driver, number) = text.split_once(':').ok_or(InvalidCardId)?;
        let number = number.parse().map_err(|_| InvalidCardId)?;
        match driver {
            "cuda" => Ok(Self::Cuda(number)),
            "opencl" => Ok(Self::OpenCl(number)),
            _ => Err(InvalidCardId),
        }
    }
}

impl fmt::Display for CardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cuda(number) => write!(f, "cuda:{number}"),
            Self::OpenCl(number) => write!(f, "opencl:{number}"),
        }
    }
}

impl CardId {
    /// Returns the name of the driver, which is that of the kernel in reports and contributions.
    #[must_use]
    pub const fn driver(self) -> &'static str {
        match self {
            Self::Cuda(_) => "cuda",
            Self::OpenCl(_) => "opencl",
        }
    }
}
