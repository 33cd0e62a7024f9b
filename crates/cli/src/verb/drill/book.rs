//! The two books of a drill, as they stand at its end.
//!
//! Guarantees: counted by plain SQL from both databases, sharing no code with what is drilled. Does
//! not: judge them, nor replace the audit, which checks more.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::database::{Database, look, query, sqlite};
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
        let mut sender = Database::look(&site.store)?;
        let receiver = look(&site.shipping)?;
        let questions = sender.rows(query!("questions"), &[])?;
        let command_ids = sender.rows(query!("commands"), &[])?;
        Ok(Self {
            sent: sent(&mut sender)?,
            received: received(&receiver)?,
            questions: questions
                .iter()
                .map(|row| (row.text(0).unwrap_or_default(), row.int(1)))
                .collect(),
            entries: entries(&mut sender)?,
            command_ids: command_ids.iter().filter_map(|row| row.text(0)).collect(),
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

fn entries(sender: &mut Database) -> Result<BTreeMap<String, Entry>, Failure> {
    let rows = sender.rows(query!("commands_by_order"), &[])?;
    let entries = rows.iter().map(|row| {
        let entry = Entry {
            is_recorded: row.int(1) != 0,
            completed: row.int(2),
            otherwise: row.int(3),
            state: row.text(4),
            in_doubt: row.int(5) != 0,
            reason: row.text(6).unwrap_or_default(),
        };
        (row.text(0).unwrap_or_default(), entry)
    });
    Ok(entries.collect())
}

fn counts(connection: &Connection, query: &str) -> Result<BTreeMap<String, i64>, Failure> {
    let mut query = connection.prepare(query).map_err(sqlite)?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.and_then(Iterator::collect).map_err(sqlite)
}
