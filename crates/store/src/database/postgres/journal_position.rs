//! How far a node has read the journal, and which rows every node has read.

use std::collections::VecDeque;

/// The longest time between two reads, in milliseconds of the database's clock.
const MAX_READ_GAP_MILLIS: i64 = 60_000;
/// How much older than that a position must be for the sweep: the time of a read and its snapshot are not taken at the same moment.
const SWEEP_MARGIN_MILLIS: i64 = 5_000;
/// The interval between the positions that are kept for the sweep.
const KEEP_INTERVAL_MILLIS: i64 = 10_000;
/// How many are kept: enough to reach back beyond the longest gap.
const MAX_POSITIONS: usize = 10;

/// The position up to which the journal was read: the snapshot of that read.
#[derive(Clone, Debug)]
pub(super) struct JournalPosition {
    /// Transactions from this id on were not visible.
    pub(super) xmax: i64,
    /// The earlier transactions that were not visible, because they were still running, in ascending order.
    pub(super) running: Vec<i64>,
    /// The time of the read, in milliseconds of the database's clock.
    pub(super) at: i64,
}

impl JournalPosition {
    /// The start position. It reads the current position and no earlier rows.
    pub(super) fn initial() -> Self {
        Self { xmax: i64::MAX, running: Vec::new(), at: 0 }
    }

    /// Whether no row can be missing between `last` and this position.
    pub(super) fn follows(&self, last: &Self) -> bool {
        self.xmax >= last.xmax && (last.at..=last.at + MAX_READ_GAP_MILLIS).contains(&self.at)
    }

    /// The snapshot in PostgreSQL's notation.
    fn snapshot(&self) -> String {
        let running: Vec<_> = self.running.iter().map(ToString::to_string).collect();
        format!("{}:{}:{}", self.running.first().unwrap_or(&self.xmax), self.xmax, running.join(","))
    }
}

/// The positions of the last minutes, for the sweep of the journal.
///
/// A row can be removed once it was visible in a snapshot that is older than the longest gap between two reads: a node that has read
/// since has seen the row, and any other node finds the gap at its next read and clears its cache. The age of the row itself says
/// nothing, since a commit can hang for longer than any limit.
#[derive(Debug, Default)]
pub(super) struct SweepHorizon {
    positions: VecDeque<JournalPosition>,
    /// The time of the last read.
    newest: i64,
}

impl SweepHorizon {
    /// Forgets all positions, because the next one may come from another server.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn note(&mut self, position: &JournalPosition) {
        if position.at < self.newest {
            // The database's clock was set back, so the times cannot be compared.
            self.clear();
        }
        self.newest = position.at;
        if self.positions.back().is_some_and(|last| position.at < last.at + KEEP_INTERVAL_MILLIS) {
            return;
        }
        if self.positions.len() == MAX_POSITIONS {
            self.positions.pop_front();
        }
        self.positions.push_back(position.clone());
    }

    /// The newest snapshot whose rows every node has read, if there is one.
    pub(super) fn seen_by_all(&self) -> Option<String> {
        let latest = self.newest - MAX_READ_GAP_MILLIS - SWEEP_MARGIN_MILLIS;
        self.positions.iter().rev().find(|position| position.at <= latest).map(JournalPosition::snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(xmax: i64, at: i64) -> JournalPosition {
        JournalPosition { xmax, running: Vec::new(), at }
    }

    #[test]
    fn a_position_is_written_as_a_snapshot() {
        assert_eq!(position(9, 0).snapshot(), "9:9:");
        assert_eq!(JournalPosition { running: vec![3, 7], ..position(9, 0) }.snapshot(), "3:9:3,7");
    }

    #[test]
    fn a_gap_or_a_step_back_is_noticed() {
        let last = position(9, 1_000);
        for (next, follows) in [
            (position(9, 1_000), true),
            (position(10, 61_000), true),
            (position(10, 61_001), false),
            (position(10, 999), false),
            (position(8, 1_250), false),
        ] {
            assert_eq!(next.follows(&last), follows, "{next:?}");
        }
    }

    #[test]
    fn rows_are_swept_when_every_node_had_time_to_read_them() {
        let mut horizon = SweepHorizon::default();
        assert_eq!(horizon.seen_by_all(), None);
        // Four reads a second for five minutes; each position is numbered by its second.
        for quarter in 0..1_200 {
            horizon.note(&position(quarter / 4, quarter * 250));
            let newest = quarter * 250 - 65_000;
            let expected = (newest >= 0).then(|| newest / 10_000 * 10);
            assert_eq!(horizon.seen_by_all(), expected.map(|xmax| format!("{xmax}:{xmax}:")), "{quarter}");
        }
        assert_eq!(horizon.positions.len(), MAX_POSITIONS);
    }

    #[test]
    fn nothing_is_swept_after_a_step_back_or_on_a_new_server() {
        let changes: [fn(&mut SweepHorizon); 2] = [|horizon| horizon.note(&position(3, 0)), SweepHorizon::clear];
        for change in changes {
            let mut horizon = SweepHorizon::default();
            horizon.note(&position(1, 100_000));
            horizon.note(&position(2, 200_000));
            assert!(horizon.seen_by_all().is_some());
            change(&mut horizon);
            assert_eq!(horizon.seen_by_all(), None);
        }
    }
}
