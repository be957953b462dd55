//! `queens gpus`: lists the graphics cards of this machine.

use std::process::ExitCode;

use queens_gpu::{CardInfo, cards};
use queens_model::CardSensors;
use queens_platform::CAN_LOAD_LIBRARIES;
use queens_program::{print, say};
use serde::Serialize;

use crate::flags::OutputArgs;
use crate::present::output::{Output, json_of};
use crate::present::table::{Column, Table};

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

/// Runs the command and returns its exit status.
pub(crate) fn run(args: &GpusArgs) -> anyhow::Result<ExitCode> {
    let cards = cards();
    match args.output.output {
        Output::Json => print(&json_of(&cards.into_iter().map(Card::from).collect::<Vec<_>>())?)?,
        Output::Text if cards.is_empty() => {
            print("no graphics card found")?;
            say(if CAN_LOAD_LIBRARIES {
                "cards need CUDA's driver (NVIDIA) or a driver of OpenCL (others)"
            } else {
                "this program is linked statically and can't load a card's driver; 'cargo build --release' makes one that can"
            });
        }
        Output::Text => table(&cards).print()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn table(cards: &[CardInfo]) -> Table<6> {
    let mut table = Table::new([
        Column::text("CARD"),
        Column::name("NAME"),
        Column::number("MEMORY"),
        Column::text("IN ALL"),
        Column::name("DRIVER").drop_order(2),
        Column::text("NOW").drop_order(1),
    ]);
    for card in cards {
        let in_all = card.not_in_all.map_or("yes".to_owned(), |reason| format!("no, {reason}"));
        let memory = format!("{} MiB", card.memory >> 20);
        table.add_row([
            card.id.to_string(),
            card.name.clone(),
            memory,
            in_all,
            card.driver.clone(),
            known_or_dash(card.id.sensors()),
        ]);
    }
    table
}

fn known_or_dash(sensors: CardSensors) -> String {
    if sensors.is_unknown() { "-".to_owned() } else { sensors.to_string() }
}

impl From<CardInfo> for Card {
    fn from(card: CardInfo) -> Self {
        let CardInfo { id, name, memory, driver, not_in_all } = card;
        let sensors = id.sensors();
        let (id, in_all) = (id.to_string(), not_in_all.is_none());
        Self { id, name, memory_bytes: memory, driver, in_all, not_in_all, sensors }
    }
}
