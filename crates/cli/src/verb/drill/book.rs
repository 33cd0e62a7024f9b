//! The two books of a drill, side by side, and where they differ.
//!
//! Guarantees: counted by plain SQL from both files, sharing no code with what is drilled. Does
//! not: replace the audit, which checks more.

use std::collections::{BTreeMap, BTreeSet};

use super::moment::look;
use super::order::{command_id, sqlite};
use super::site::Site;
use crate::exit::Failure;
use crate::output::table;

/// How many differences are spelled out.
const SHOWN: usize = 10;

/// Processes that were killed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kills {
    /// Relays.
    pub(super) relays: u32,
    /// Receivers.
    pub(super) receivers: u32,
    /// Paying processes.
    pub(super) payers: u32,
}

/// What both files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Books {
    orders_paid: i64,
    commands: i64,
    open: i64,
    completed: i64,
    attempts: i64,
    jobs: i64,
    keys: i64,
    calls: i64,
    repeats: i64,
    /// Each paid order with its completed receipts.
    receipts: BTreeMap<String, i64>,
    command_ids: BTreeSet<String>,
    /// Each key with its effects.
    effects: BTreeMap<String, i64>,
}

impl Books {
    /// Reads both files.
    ///
    /// # Errors
    /// What SQLite says.
    pub(super) fn read(site: &Site) -> Result<Self, Failure> {
        let mut books = Self::default();
        let sender = look(&site.store)?;
        let count = include_str!("sql/sender_book.sql");
        let five = sender.query_row(count, [], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
        });
        [books.orders_paid, books.commands, books.open, books.completed, books.attempts] =
            five.map_err(sqlite)?;
        books.receipts = counts(&sender, include_str!("sql/receipts_by_order.sql"))?;
        books.command_ids = ids(&sender, include_str!("sql/commands.sql"))?;
        let receiver = look(&site.shipping)?;
        let count = include_str!("sql/receiver_book.sql");
        let four = receiver
            .query_row(count, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]));
        [books.jobs, books.keys, books.calls, books.repeats] = four.map_err(sqlite)?;
        books.effects = counts(&receiver, include_str!("sql/jobs_by_key.sql"))?;
        Ok(books)
    }

    /// Side by side.
    pub(super) fn table(&self, kills: Kills) -> String {
        let mut rows = table::table(&["the sender's book", "", "the receiver's book", ""]);
        for column in [1, 3] {
            if let Some(column) = rows.column_mut(column) {
                column.set_cell_alignment(comfy_table::CellAlignment::Right);
            }
        }
        let mut row = |ours: &str, n: i64, theirs: &str, m: Option<i64>| {
            let m = m.map(|m| m.to_string()).unwrap_or_default();
            rows.add_row([ours.to_owned(), n.to_string(), theirs.to_owned(), m]);
        };
        row("orders paid", self.orders_paid, "effects (jobs)", Some(self.jobs));
        row("commands recorded", self.commands, "keys remembered", Some(self.keys));
        row("receipts: completed", self.completed, "requests taken on", Some(self.calls));
        row("attempts", self.attempts, "of these repeats", Some(self.repeats));
        row("still open", self.open, "", None);
        format!(
            "{}\n\nkilled with SIGKILL: {} relays, {} receivers, {} paying processes",
            rows.trim_fmt(),
            kills.relays,
            kills.receivers,
            kills.payers
        )
    }

    /// Every difference, in words; none if each of `orders` orders has exactly one command, one
    /// completed receipt and one effect, and nothing else is there.
    pub(super) fn differences(&self, orders: u32) -> Vec<String> {
        let mut found = Vec::new();
        if self.orders_paid != i64::from(orders) {
            found.push(format!("{} orders are paid, not {orders}", self.orders_paid));
        }
        if self.open > 0 {
            found.push(format!("{} commands are still open", self.open));
        }
        let mut known = BTreeSet::new();
        for (order, receipts) in &self.receipts {
            let command = command_id(order);
            if !self.command_ids.contains(&command) {
                found.push(format!("order {order} is paid and has no command"));
            }
            if *receipts != 1 {
                found.push(format!("command {command} has {receipts} completed receipts"));
            }
            let effects = self.effects.get(&command).copied().unwrap_or(0);
            if effects != 1 {
                found.push(format!("command {command} has {effects} effects"));
            }
            known.insert(command);
        }
        let strangers =
            |ids: &BTreeSet<String>| ids.difference(&known).cloned().collect::<Vec<_>>();
        for id in strangers(&self.command_ids) {
            found.push(format!("command {id} stands without a paid order"));
        }
        for key in strangers(&self.effects.keys().cloned().collect()) {
            found.push(format!("key {key} has an effect without a paid order"));
        }
        found
    }
}

/// The first differences, and how many more there are.
pub(super) fn shown(differences: &[String]) -> Vec<String> {
    let mut lines: Vec<_> = differences.iter().take(SHOWN).cloned().collect();
    if differences.len() > SHOWN {
        lines.push(format!("… and {} more", differences.len() - SHOWN));
    }
    lines
}

fn counts(
    connection: &rusqlite::Connection,
    query: &str,
) -> Result<BTreeMap<String, i64>, Failure> {
    let mut query = connection.prepare(query).map_err(sqlite)?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.and_then(Iterator::collect).map_err(sqlite)
}

fn ids(connection: &rusqlite::Connection, query: &str) -> Result<BTreeSet<String>, Failure> {
    let mut query = connection.prepare(query).map_err(sqlite)?;
    let rows = query.query_map([], |row| row.get(0));
    rows.and_then(Iterator::collect).map_err(sqlite)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balanced() -> Books {
        let id = || command_id("A-000001");
        Books {
            orders_paid: 1,
            commands: 1,
            receipts: [("A-000001".to_owned(), 1)].into(),
            command_ids: [id()].into(),
            effects: [(id(), 1)].into(),
            ..Books::default()
        }
    }

    #[test]
    fn one_of_each_is_no_difference() {
        assert!(balanced().differences(1).is_empty());
        assert_eq!(balanced().differences(2), ["1 orders are paid, not 2"]);
    }

    #[test]
    fn everything_lost_invented_or_doubled_is_a_difference() {
        let differs = |change: fn(&mut Books), word: &str| {
            let mut books = balanced();
            change(&mut books);
            let found = books.differences(1).join("; ");
            assert!(found.contains(word), "{word}: {found}");
        };
        differs(|books| books.open = 1, "still open");
        differs(|books| books.command_ids.clear(), "has no command");
        differs(|books| books.effects.clear(), "has 0 effects");
        differs(|books| _ = books.effects.insert(command_id("A-000001"), 2), "has 2 effects");
        differs(|books| _ = books.receipts.insert("A-000001".into(), 0), "0 completed receipts");
        differs(|books| _ = books.command_ids.insert("x".into()), "x stands without");
        differs(|books| _ = books.effects.insert("y".into(), 1), "y has an effect without");
    }
}
