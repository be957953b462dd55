//! `queens gpus`: lists the graphics cards of this machine.

use queens_gpu::{CardInfo, cards};
use queens_model::CardSensors;
use queens_platform::CAN_LOAD_LIBRARIES;
use queens_program::{Output, OutputArgs, say};
use serde::Serialize;

use crate::present::table::table;

/// List the graphics cards and OpenCL devices of this machine
///
/// NVIDIA's cards are found by CUDA's driver, others by OpenCL's. --gpu all takes those that are marked so.
#[derive(Debug, clap::Args)]
pub(crate) struct GpusArgs {
    #[command(flatten)]
    output: OutputArgs,
}

/// A card in JSON. Scripts rely on its fields.
#[derive(Debug, Serialize)]
struct Card {
    id: String,
    name: String,
    memory_bytes: u64,
    driver: String,
    in_all: bool,
    not_in_all: Option<&'static str>,
    #[serde(flatten)]
    sensors: CardSensors,
}

/// Runs the command.
pub(crate) fn run(args: &GpusArgs) -> anyhow::Result<()> {
    let cards: Vec<Card> = cards().into_iter().map(Card::from).collect();
    args.output.output.print(&cards, || match cards.is_empty() {
        true => "no graphics card found".to_owned(),
        false => cards_table(&cards),
    })?;
    if cards.is_empty() && args.output.output == Output::Text {
        say(if CAN_LOAD_LIBRARIES {
            "cards need CUDA's driver (NVIDIA) or a driver of OpenCL (others)"
        } else {
            "this program is linked statically and can't load a card's driver; 'cargo build --release' makes one that can"
        });
    }
    Ok(())
}

fn cards_table(cards: &[Card]) -> String {
    let row = |card: &Card| {
        let in_all = card.not_in_all.map_or("yes".to_owned(), |reason| format!("no, {reason}"));
        let memory = format!("{} MiB", card.memory_bytes >> 20);
        let now = if card.sensors.is_unknown() { "-".to_owned() } else { card.sensors.to_string() };
        [card.id.clone(), card.name.clone(), memory, in_all, card.driver.clone(), now]
    };
    table(["CARD", "NAME", ">MEMORY", "IN ALL", "DRIVER", "NOW"], cards.iter().map(row))
}

impl From<CardInfo> for Card {
    fn from(card: CardInfo) -> Self {
        let CardInfo { id, name, memory, driver, not_in_all } = card;
        let sensors = id.sensors();
        let (id, in_all) = (id.to_string(), not_in_all.is_none());
        Self { id, name, memory_bytes: memory, driver, in_all, not_in_all, sensors }
    }
}
