//! The moments of a drill's story: what the sender says, and what the receiver has.
//!
//! Guarantees: both are read from the two databases, right after the kill. Does not: interpret.

use counterfoil_core::port::read::Story;

use super::database::{look, sqlite};
use super::order::order_id;
use super::site::Site;
use crate::exit::Failure;
use crate::output::table;

/// One moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// The order that it is about.
    pub(super) order: u32,
    /// What has happened.
    pub(super) what: &'static str,
    /// What the sender's tables say about the command.
    pub(super) sender: String,
    /// How many effects the receiver has.
    pub(super) effects: i64,
}

impl Moment {
    /// All of them as a table, order by order.
    pub(super) fn table(mut moments: Vec<Self>) -> String {
        moments.sort_by_key(|moment| moment.order);
        let mut rows = table::table(&["order", "moment", "the sender says", "the receiver has"]);
        let mut last = None;
        for Self { order, what, sender, effects } in moments {
            let is_new = last.replace(order) != Some(order);
            let name = if is_new { order_id(order) } else { String::new() };
            rows.add_row([name, what.to_owned(), sender, jobs(effects)]);
        }
        rows.trim_fmt()
    }
}

/// What the receiver has, in words.
pub(super) fn jobs(effects: i64) -> String {
    match effects {
        0 => "nothing".to_owned(),
        1 => "1 job".to_owned(),
        more => format!("{more} jobs"),
    }
}

/// What the sender says about a command.
pub(super) fn sender_says(story: Option<&Story>) -> String {
    let Some(story) = story else { return "no such command".to_owned() };
    let row = &story.listed;
    let attempts = match (story.state(), row.attempts) {
        (_, 0) => "never sent".to_owned(),
        (Some(counterfoil_core::domain::State::Sending), _) => "no answer noted".to_owned(),
        (_, 1) => "1 attempt".to_owned(),
        (_, more) => format!("{more} attempts"),
    };
    let receipts = match story.receipts.len() {
        0 => "no receipt".to_owned(),
        1 => "1 receipt".to_owned(),
        more => format!("{more} receipts"),
    };
    let doubt = if row.in_doubt { ", in doubt" } else { "" };
    format!("{}{doubt}; {attempts}; {receipts}", row.state)
}

/// How many effects the receiver has for a key; none where it has no file yet.
///
/// # Errors
/// What SQLite says.
pub(super) fn receiver_has(site: &Site, key: &str) -> Result<i64, Failure> {
    if !site.shipping.exists() {
        return Ok(0);
    }
    let jobs = include_str!("sql/jobs_of_key.sql");
    look(&site.shipping)?.query_row(jobs, [key], |row| row.get(0)).map_err(sqlite)
}
