//! `queens gpus`: lists the graphics cards of this machine.

use std::process::ExitCode;

use queens_gpu::{CardInfo, Sensors, cards};
use queens_platform::CAN_LOAD_LIBRARIES;
use queens_runtime::{print, say};
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
    celsius: Option<u32>,
    watts: Option<f64>,
    megahertz: Option<u32>,
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
        let in_all = if card.in_all { "yes" } else { "no" };
        let memory = format!("{} MiB", card.memory >> 20);
        table.add_row([
            card.id.to_string(),
            card.name.clone(),
            memory,
            in_all.to_owned(),
            card.driver.clone(),
            now(card.id.sensors()),
        ]);
    }
    table
}

/// Describes what a card's driver measures, if it tells: "46 °C, 72 W, 345 MHz".
fn now(sensors: Sensors) -> String {
    let Sensors { celsius, watts, megahertz } = sensors;
    let values = [
        celsius.map(|celsius| format!("{celsius} °C")),
        watts.map(|watts| format!("{watts:.0} W")),
        megahertz.map(|megahertz| format!("{megahertz} MHz")),
    ];
    let values: Vec<String> = values.into_iter().flatten().collect();
    if values.is_empty() { "-".to_owned() } else { values.join(", ") }
}

impl From<CardInfo> for Card {
    fn from(card: CardInfo) -> Self {
        let CardInfo { id, name, memory, driver, in_all } = card;
        let Sensors { celsius, watts, megahertz } = id.sensors();
        Self { id: id.to_string(), name, memory_bytes: memory, driver, in_all, celsius, watts, megahertz }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_driver_does_not_tell_is_left_out() {
        let all = Sensors { celsius: Some(46), watts: Some(72.4), megahertz: Some(345) };
        assert_eq!(now(all), "46 °C, 72 W, 345 MHz");
        assert_eq!(now(Sensors { watts: None, ..all }), "46 °C, 345 MHz");
        assert_eq!(now(Sensors::default()), "-");
    }
}
