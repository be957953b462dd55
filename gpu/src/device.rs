//! What a card has to do: hold memory, and run the kernels one after another.

use thiserror::Error;

/// The kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    CountTails,
    PlaceTails,
    WriteTails,
    Clear,
    CountHeads,
    PlaceHeads,
    WriteHeads,
    CountWords,
    PlaceWords,
    WriteWords,
    Level,
    Level2,
    Sieve,
    Cut,
    Join,
}

impl Stage {
    pub(crate) const ALL: [Self; 15] = [
        Self::CountTails,
        Self::PlaceTails,
        Self::WriteTails,
        Self::Clear,
        Self::CountHeads,
        Self::PlaceHeads,
        Self::WriteHeads,
        Self::CountWords,
        Self::PlaceWords,
        Self::WriteWords,
        Self::Level,
        Self::Level2,
        Self::Sieve,
        Self::Cut,
        Self::Join,
    ];

    /// The kernels of each batch, in order.
    pub(crate) const OF_BATCH: [Self; 12] = [
        Self::Clear,
        Self::CountHeads,
        Self::PlaceHeads,
        Self::WriteHeads,
        Self::CountWords,
        Self::PlaceWords,
        Self::WriteWords,
        Self::Level,
        Self::Level2,
        Self::Sieve,
        Self::Cut,
        Self::Join,
    ];

    /// Returns the kernel's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::CountTails => "count_tails",
            Self::PlaceTails => "place_tails",
            Self::WriteTails => "write_tails",
            Self::Clear => "clear",
            Self::CountHeads => "count_heads",
            Self::PlaceHeads => "place_heads",
            Self::WriteHeads => "write_heads",
            Self::CountWords => "count_words",
            Self::PlaceWords => "place_words",
            Self::WriteWords => "write_words",
            Self::Level => "level",
            Self::Level2 => "level_2",
            Self::Sieve => "sieve",
            Self::Cut => "cut",
            Self::Join => "join",
        }
    }
}

/// Why a card can't count.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CardError {
    /// The driver refused something, or the card was lost.
    #[error("{0}")]
    Driver(String),
    /// Not even one subproblem has room in the card's memory.
    #[error("the card has too little memory: {0} MiB are not enough for one subproblem of this board")]
    TooLittleMemory(u64),
    /// A block has too little shared memory, in bytes.
    #[error("a block of the card has {has} bytes of shared memory, and this board takes {needs}")]
    TooLittleSharedMemory {
        /// What the card has.
        has: u64,
        /// What the board takes.
        needs: u64,
    },
    /// Cards count boards of other sizes only.
    #[error("cards count boards of n = 12 to 29")]
    BoardSize,
}

/// A card with the kernels for half boards of one number of rows.
pub(crate) trait Device: Send {
    /// Returns the bytes of memory that a batch may use.
    fn memory(&self) -> u64;

    /// Returns the number of blocks that join.
    fn n_blocks(&self) -> u32;

    /// Copies to the card's memory.
    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), CardError>;

    /// Starts a kernel after all that was asked for before.
    fn start(&mut self, stage: Stage) -> Result<(), CardError>;

    /// Copies from the card's memory, after all that was asked for before.
    fn read(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), CardError>;

    /// Returns the time that each kernel has taken; empty if that is not known.
    fn seconds(&self) -> &[(Stage, f64)] {
        &[]
    }
}
