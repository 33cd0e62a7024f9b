//! The two books of a drill, as they stand at its end.
//!
//! Guarantees: counted by plain SQL from both files, sharing no code with what is drilled. Does
//! not: judge them, nor replace the audit, which checks more.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::moment::look;
use super::order::{command_id, sqlite};
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
    /// Each paid order with its command.
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
        let sender = look(&site.store)?;
        let receiver = look(&site.shipping)?;
        Ok(Self {
            sent: sent(&sender)?,
            received: received(&receiver)?,
            questions: counts(&sender, include_str!("sql/questions.sql"))?,
            entries: entries(&sender)?,
            command_ids: ids(&sender, include_str!("sql/commands.sql"))?,
            effects: counts(&receiver, include_str!("sql/jobs_by_key.sql"))?,
        })
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

fn sent(sender: &Connection) -> Result<Sent, Failure> {
    let read = sender.query_row(include_str!("sql/sender_book.sql"), [], |row| {
        Ok(Sent {
            orders_paid: row.get(0)?,
            commands: row.get(1)?,
            completed: row.get(2)?,
            attempts: row.get(3)?,
            uncertain: row.get(4)?,
            dead: row.get(5)?,
            open: row.get(6)?,
        })
    });
    read.map_err(sqlite)
}

fn received(receiver: &Connection) -> Result<Received, Failure> {
    let read = receiver.query_row(include_str!("sql/receiver_book.sql"), [], |row| {
        let (jobs, keys) = (row.get(0)?, row.get(1)?);
        Ok(Received { jobs, keys, calls: row.get(2)?, repeats: row.get(3)? })
    });
    read.map_err(sqlite)
}

fn entries(sender: &Connection) -> Result<BTreeMap<String, Entry>, Failure> {
    let mut query = sender.prepare(include_str!("sql/commands_by_order.sql")).map_err(sqlite)?;
    let rows = query.query_map([], |row| {
        let entry = Entry {
            is_recorded: row.get(1)?,
            completed: row.get(2)?,
            otherwise: row.get(3)?,
            state: row.get(4)?,
            in_doubt: row.get(5)?,
            reason: row.get(6)?,
        };
        Ok((row.get(0)?, entry))
    });
    rows.and_then(Iterator::collect).map_err(sqlite)
}

fn counts(connection: &Connection, query: &str) -> Result<BTreeMap<String, i64>, Failure> {
    let mut query = connection.prepare(query).map_err(sqlite)?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.and_then(Iterator::collect).map_err(sqlite)
}

fn ids(connection: &Connection, query: &str) -> Result<BTreeSet<String>, Failure> {
    let mut query = connection.prepare(query).map_err(sqlite)?;
    let rows = query.query_map([], |row| row.get(0));
    rows.and_then(Iterator::collect).map_err(sqlite)
}
