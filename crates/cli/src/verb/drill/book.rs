//! The two books of a drill, as they stand at its end.
//!
//! Guarantees: counted by plain SQL from both databases, sharing no code with what is drilled;
//! orders that went plainly well are laid side by side and not remembered. Does not: judge the
//! others, nor replace the audit, which checks more.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::database::{Answer, Database, Query, look, query, sqlite};
use super::order::command_id;
use super::site::Site;
use crate::exit::Failure;

/// Processes that were killed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kills {
    /// Relays.
    pub(super) relays: u32,
    /// Receivers.
    pub(super) receivers: u32,
    /// Receivers that died by themselves, as they were told to, before a commit.
    pub(super) died: u32,
    /// Paying processes.
    pub(super) payers: u32,
}

/// What the sender says about the command of a paid order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Whether the command stands at all.
    pub(super) is_recorded: bool,
    /// Its completed receipts.
    pub(super) completed: i64,
    /// Its receipts that say anything else.
    pub(super) otherwise: i64,
    /// The state of its delivery, while it is open.
    pub(super) state: Option<String>,
    /// Whether an attempt may have acted.
    pub(super) in_doubt: bool,
    /// Why it stands so.
    pub(super) reason: String,
}

/// Totals of the sender's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) orders_paid: i64,
    pub(super) commands: i64,
    pub(super) completed: i64,
    pub(super) attempts: i64,
    pub(super) uncertain: i64,
    /// Dead, or in conflict.
    pub(super) dead: i64,
    /// Still in the hands of a machine.
    pub(super) open: i64,
}

/// Totals of the receiver's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) jobs: i64,
    pub(super) keys: i64,
    pub(super) calls: i64,
    pub(super) repeats: i64,
}

/// What both files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Books {
    pub(super) sent: Sent,
    pub(super) received: Received,
    /// What questions were answered, and how often.
    pub(super) questions: BTreeMap<String, i64>,
    /// Each paid order with its command; here and below, without those that went plainly well.
    pub(super) entries: BTreeMap<String, Entry>,
    pub(super) command_ids: BTreeSet<String>,
    /// Each key with its effects.
    pub(super) effects: BTreeMap<String, i64>,
}

impl Books {
    /// Reads both files.
    ///
    /// # Errors
    /// What SQLite says.
    pub(super) fn read(site: &Site) -> Result<Self, Failure> {
        let mut sender = Database::look(&site.store)?;
        let receiver = look(&site.shipping)?;
        let questions = sender.rows(query!("questions"), &[])?;
        let mut books = Self {
            sent: sent(&mut sender)?,
            received: received(&receiver)?,
            questions: questions
                .iter()
                .map(|row| (row.text(0).unwrap_or_default(), row.int(1)))
                .collect(),
            ..Self::default()
        };
        books.lay_side_by_side(sender, Database::look(&site.store)?, &receiver)?;
        Ok(books)
    }

    /// Goes through orders, commands and effects at once, in the order of their keys.
    fn lay_side_by_side(
        &mut self,
        orders: Database,
        commands: Database,
        receiver: &Connection,
    ) -> Result<(), Failure> {
        let mut jobs = receiver.prepare(include_str!("sql/jobs_by_key.sql")).map_err(sqlite)?;
        let mut jobs = jobs
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))
            .map_err(sqlite)?;
        let mut jobs = || jobs.next().transpose().map_err(sqlite);
        let mut orders = Walk::new(orders, query!("commands_by_order"));
        let mut commands = Walk::new(commands, query!("commands"));
        let mut order = orders.next()?;
        let mut command = commands.next()?;
        let mut job = jobs()?;
        loop {
            let of_order = order.as_ref().map(|(order, _)| command_id(order));
            let of_command = command.as_ref().map(|(id, _)| id);
            let of_job = job.as_ref().map(|(key, _)| key);
            let least = of_order.iter().chain(of_command).chain(of_job).min().cloned();
            let Some(key) = least else { return Ok(()) };
            let mut found = Found::default();
            if of_order.as_ref() == Some(&key) {
                found.order = std::mem::replace(&mut order, orders.next()?)
                    .map(|(order, row)| (order, entry(&row)));
            }
            if command.as_ref().is_some_and(|(id, _)| *id == key) {
                (found.stands, command) = (true, commands.next()?);
            }
            if job.as_ref().is_some_and(|(of, _)| *of == key) {
                found.effects = std::mem::replace(&mut job, jobs()?).map(|(_, effects)| effects);
            }
            self.remember(key, found);
        }
    }

    /// Remembers what stands about one key, unless it went plainly well.
    fn remember(&mut self, key: String, found: Found) {
        let Found { order, stands, effects } = found;
        let plain = Entry { is_recorded: true, completed: 1, ..Entry::default() };
        let is_plain = order.as_ref().is_some_and(|(_, entry)| *entry == plain);
        if is_plain && stands && effects == Some(1) {
            return;
        }
        self.entries.extend(order);
        self.effects.extend(effects.map(|effects| (key.clone(), effects)));
        self.command_ids.extend(stands.then_some(key));
    }

    /// How many effects the command of an order has.
    pub(super) fn effects_of(&self, order: &str) -> i64 {
        self.effects.get(&command_id(order)).copied().unwrap_or(0)
    }

    /// Keys that acted more than once.
    pub(super) fn acted_twice(&self) -> usize {
        self.effects.values().filter(|effects| **effects > 1).count()
    }

    /// The orders whose commands wait for a person.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&String, &Entry)> {
        let waits = |entry: &Entry| matches!(entry.state.as_deref(), Some("uncertain" | "dead"));
        self.entries.iter().filter(move |(_, entry)| waits(entry))
    }
}

fn sent(sender: &mut Database) -> Result<Sent, Failure> {
    let row = sender.row(query!("sender_book"), &[])?;
    Ok(Sent {
        orders_paid: row.int(0),
        commands: row.int(1),
        completed: row.int(2),
        attempts: row.int(3),
        uncertain: row.int(4),
        dead: row.int(5),
        open: row.int(6),
    })
}

fn received(receiver: &Connection) -> Result<Received, Failure> {
    let read = receiver.query_row(include_str!("sql/receiver_book.sql"), [], |row| {
        let (jobs, keys) = (row.get(0)?, row.get(1)?);
        Ok(Received { jobs, keys, calls: row.get(2)?, repeats: row.get(3)? })
    });
    read.map_err(sqlite)
}

/// What stands about one key.
#[derive(Default)]
struct Found {
    /// The paid order of it.
    order: Option<(String, Entry)>,
    /// Whether the command stands.
    stands: bool,
    /// Its effects, if there are any.
    effects: Option<i64>,
}

fn entry(row: &Answer) -> Entry {
    Entry {
        is_recorded: row.int(1) != 0,
        completed: row.int(2),
        otherwise: row.int(3),
        state: row.text(4),
        in_doubt: row.int(5) != 0,
        reason: row.text(6).unwrap_or_default(),
    }
}

/// The rows of a query in the order of their first column, a page in memory.
struct Walk {
    database: Database,
    query: Query,
    page: std::vec::IntoIter<Answer>,
    after: String,
}

impl Walk {
    fn new(database: Database, query: Query) -> Self {
        Self { database, query, page: Vec::new().into_iter(), after: String::new() }
    }

    fn next(&mut self) -> Result<Option<(String, Answer)>, Failure> {
        if self.page.len() == 0 {
            self.page = self.database.rows(self.query, &[&self.after])?.into_iter();
        }
        let Some(row) = self.page.next() else { return Ok(None) };
        self.after = row.text(0).unwrap_or_default();
        Ok(Some((self.after.clone(), row)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_went_plainly_well_is_not_remembered() {
        let key = || command_id("A-000007");
        let done = Entry { is_recorded: true, completed: 1, ..Entry::default() };
        let of = |entry: Entry, stands, effects| {
            let mut books = Books::default();
            let order = Some(("A-000007".to_owned(), entry));
            books.remember(key(), Found { order, stands, effects });
            books
        };
        assert_eq!(of(done.clone(), true, Some(1)), Books::default());
        assert_eq!(of(done.clone(), true, Some(2)).effects_of("A-000007"), 2);
        assert_eq!(of(done.clone(), true, None).entries.len(), 1);
        assert_eq!(of(done.clone(), false, Some(1)).command_ids.len(), 0);
        let waits = Entry { state: Some("uncertain".into()), ..done.clone() };
        assert_eq!(of(waits, true, Some(1)).waiting().count(), 1);
        let twice = Entry { completed: 2, ..done };
        assert_eq!(of(twice, true, Some(1)).entries.len(), 1);
        let mut books = Books::default();
        books.remember(key(), Found { order: None, stands: true, effects: Some(1) });
        assert_eq!((books.command_ids.len(), books.effects.len()), (1, 1));
    }
}
