//! The thread time of parties by day, for the curve of each person.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use queens_model::Party;
use queens_store::history::{MOST_PARTIES_OF_A_DAY, MOST_PARTY_ROWS, PARTY_DAYS, PartyDay};

/// The thread time of each party at the end of each day that changed it.
#[derive(Debug, Default)]
pub(crate) struct Days {
    /// By day; in microseconds.
    curves: HashMap<Party, BTreeMap<u32, u64>>,
    /// The first day to keep.
    first_day: u32,
    unstored: BTreeSet<(u32, Party)>,
}

impl Days {
    /// Continues with the stored days.
    pub(super) fn restore(stored: Vec<PartyDay>, is_stored: bool) -> Self {
        let mut days = Self::default();
        for PartyDay { day, party, time_us } in stored {
            days.curves.entry(party).or_default().insert(day, time_us);
        }
        if !is_stored {
            days.lose();
        }
        days
    }

    /// Sets the thread time of parties on a day, of those with the most time if there are too many. Earlier days stay
    /// as they are.
    pub(crate) fn note(&mut self, day: u32, parties: impl IntoIterator<Item = (Party, Duration)>) {
        let mut parties: Vec<(Party, Duration)> = parties.into_iter().collect();
        if parties.len() > MOST_PARTIES_OF_A_DAY {
            parties.sort_unstable_by_key(|(_, time)| std::cmp::Reverse(*time));
            parties.truncate(MOST_PARTIES_OF_A_DAY);
        }
        for (party, time) in parties {
            self.set(day, party, u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        }
        self.limit(day, MOST_PARTY_ROWS);
    }

    /// Drops days that are too old on this day, and the oldest days of all while there are too many rows.
    fn limit(&mut self, day: u32, most_rows: usize) {
        self.drop_before(day.saturating_sub(PARTY_DAYS - 1));
        while self.n_rows() > most_rows
            && let Some(oldest) = self.curves.values().filter_map(BTreeMap::first_key_value).min()
        {
            self.drop_before(oldest.0 + 1);
        }
    }

    fn n_rows(&self) -> usize {
        self.curves.values().map(BTreeMap::len).sum()
    }

    /// Returns the days of a party, ascending, with its thread time at the end of each.
    pub(crate) fn of(&self, party: Party) -> Vec<(u32, Duration)> {
        let curve = self.curves.get(&party).into_iter().flatten();
        curve.map(|(day, time_us)| (*day, Duration::from_micros(*time_us))).collect()
    }

    pub(super) fn has_unstored(&self) -> bool {
        !self.unstored.is_empty()
    }

    /// Returns the days that are not stored yet, in the order of the key, and the first day to keep.
    pub(super) fn unstored(&self) -> (Vec<PartyDay>, u32) {
        let day = |&(day, party): &(u32, Party)| {
            let time_us = *self.curves.get(&party)?.get(&day)?;
            Some(PartyDay { day, party, time_us })
        };
        (self.unstored.iter().filter_map(day).collect(), self.first_day)
    }

    /// Removes the marks of stored days, unless they have changed meanwhile.
    pub(super) fn stored(&mut self, days: &[PartyDay]) {
        for &PartyDay { day, party, time_us } in days {
            let is_stored = |curve: &BTreeMap<u32, u64>| curve.get(&day).is_none_or(|now| *now == time_us);
            if self.curves.get(&party).is_none_or(is_stored) {
                self.unstored.remove(&(day, party));
            }
        }
    }

    /// Marks everything as not stored.
    pub(super) fn lose(&mut self) {
        let all = self.curves.iter().flat_map(|(party, curve)| curve.keys().map(|day| (*day, *party)));
        self.unstored = all.collect();
    }

    fn set(&mut self, day: u32, party: Party, time_us: u64) {
        let curve = self.curves.entry(party).or_default();
        // Not if the clock was set back, or nothing was counted since.
        if curve.last_key_value().is_none_or(|(last, time)| *last <= day && *time != time_us) {
            curve.insert(day, time_us);
            self.unstored.insert((day, party));
        }
    }

    /// Drops all earlier days. The last of them that a party has stands for those after it, and goes as well: its curve
    /// begins at its first kept day.
    fn drop_before(&mut self, first_day: u32) {
        self.first_day = self.first_day.max(first_day);
        self.curves.retain(|_, curve| {
            *curve = curve.split_off(&first_day);
            !curve.is_empty()
        });
        self.unstored.retain(|(day, _)| *day >= first_day);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(number: u32) -> Party {
        Party::from_bytes(u128::from(number).to_be_bytes())
    }

    const fn hours(hours: u64) -> Duration {
        Duration::from_secs(3600 * hours)
    }

    #[test]
    fn a_day_has_the_last_time_of_those_who_counted() {
        let mut days = Days::default();
        days.note(20_000, [(party(1), hours(1)), (party(2), hours(5))]);
        days.note(20_000, [(party(1), hours(2)), (party(2), hours(5))]);
        days.note(20_003, [(party(1), hours(2)), (party(2), hours(6))]);
        days.note(20_001, [(party(2), hours(7))]);
        assert_eq!(days.of(party(1)), [(20_000, hours(2))]);
        assert_eq!(days.of(party(2)), [(20_000, hours(5)), (20_003, hours(6))]);
        assert_eq!(days.of(party(3)), []);
        let (unstored, _) = days.unstored();
        assert_eq!(unstored.len(), 3);
        days.stored(&unstored);
        assert!(!days.has_unstored());
        days.note(20_003, [(party(1), hours(3))]);
        assert_eq!(days.unstored().0.len(), 1);
        let mut restored = Days::restore(unstored, true);
        assert_eq!(restored.of(party(2)), days.of(party(2)));
        assert!(!restored.has_unstored());
        restored.lose();
        assert_eq!(restored.unstored().0.len(), 3);
    }

    #[test]
    fn it_is_bounded_in_days_and_in_parties() {
        let mut days = Days::default();
        for day in 0..PARTY_DAYS + 10 {
            days.note(day, [(party(1), hours(u64::from(day) + 1))]);
        }
        assert_eq!((days.of(party(1)).len(), days.n_rows()), (400, 400));
        assert_eq!((days.unstored().1, days.unstored.len()), (10, 400));
        let most = u32::try_from(MOST_PARTIES_OF_A_DAY).expect("few");
        let day = PARTY_DAYS + 10;
        days.note(day, (0..most + 5).map(|number| (party(number), hours(u64::from(number) + 500))));
        assert_eq!((days.of(party(4)), days.n_rows()), (vec![], 399 + MOST_PARTIES_OF_A_DAY));
        days.limit(day, MOST_PARTIES_OF_A_DAY + 10);
        assert_eq!((days.n_rows(), days.of(party(1)).len()), (MOST_PARTIES_OF_A_DAY + 10, 10));
        days.limit(day, MOST_PARTIES_OF_A_DAY - 1);
        assert_eq!((days.n_rows(), days.unstored().1), (0, day + 1));
        assert_eq!(days.n_rows(), days.unstored.len());
    }
}
