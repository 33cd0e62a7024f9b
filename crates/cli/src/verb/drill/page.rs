//! What a drill prints about its books: the totals side by side, and each command that waits.
//!
//! Guarantees: every command that waits for a person is named, with its reason and with what that
//! person would find at the receiver. Does not: judge.

use super::book::{Books, Kills};
use super::order::command_id;
use crate::args::Contract;
use crate::output::table::{cell, table};

/// How many differences are spelled out.
const DIFFERENCES: usize = 10;

/// The totals, side by side.
pub(super) fn totals(books: &Books, kills: Kills) -> String {
    let mut rows = table(&["the sender's book", "", "the receiver's book", ""]);
    for column in [1, 3] {
        if let Some(column) = rows.column_mut(column) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }
    let (ours, theirs) = (&books.sent, &books.received);
    let questions = books.questions.values().sum();
    let twice = i64::try_from(books.acted_twice()).unwrap_or(i64::MAX);
    let sender = [
        ("orders paid", ours.orders_paid),
        ("commands recorded", ours.commands),
        ("receipts: completed", ours.completed),
        ("attempts", ours.attempts),
        ("questions answered", questions),
        ("uncertain", ours.uncertain),
        ("dead or in conflict", ours.dead),
        ("still open", ours.open),
    ];
    let receiver = [
        ("effects (jobs)", theirs.jobs),
        ("acted twice", twice),
        ("keys remembered", theirs.keys),
        ("requests taken on", theirs.calls),
        ("of these repeats", theirs.repeats),
    ];
    let mut right = receiver.iter();
    for (name, number) in sender {
        let (other, count) = match right.next() {
            Some((name, number)) => (*name, number.to_string()),
            None => ("", String::new()),
        };
        rows.add_row([name.to_owned(), number.to_string(), other.to_owned(), count]);
    }
    format!("{}\n\n{}{}", rows.trim_fmt(), killed(kills), answered(books))
}

fn killed(kills: Kills) -> String {
    let Kills { relays, receivers, died, payers } = kills;
    let died =
        if died > 0 { format!("; {died} receiver died before a commit") } else { String::new() };
    format!(
        "killed with SIGKILL: {relays} relays, {receivers} receivers, {payers} paying \
         processes{died}"
    )
}

/// What the receiver answered to questions.
fn answered(books: &Books) -> String {
    if books.questions.is_empty() {
        return String::new();
    }
    let answer =
        |(answer, count): (&String, &i64)| format!("{count} {}", cell(answer).replace('_', " "));
    let answers: Vec<_> = books.questions.iter().map(answer).collect();
    format!("\nquestions answered: {}", answers.join(", "))
}

/// Each command that waits for a person; `None` if none does.
pub(super) fn waiting(books: &Books) -> Option<String> {
    let mut rows = table(&["waits for a person", "state", "why", "the receiver has"]);
    let mut any = false;
    for (order, entry) in books.waiting() {
        any = true;
        rows.add_row([
            command_id(order),
            entry.state.clone().unwrap_or_default(),
            cell(&entry.reason),
            super::moment::jobs(books.effects_of(order)),
        ]);
    }
    any.then(|| rows.trim_fmt())
}

/// What was shown, where nothing differs.
pub(super) fn verdict(books: &Books, contract: Contract) -> String {
    if contract == Contract::Idempotent {
        return "every order has exactly one effect, every command exactly one receipt".to_owned();
    }
    let (completed, waiting) = (books.sent.completed, books.waiting().count());
    format!(
        "no order acted twice: {completed} are done once and have their receipt, {waiting} wait \
         for a person and are listed"
    )
}

/// The first differences, and how many more there are.
pub(super) fn differences(differences: &[String]) -> Vec<String> {
    let mut lines: Vec<_> = differences.iter().take(DIFFERENCES).cloned().collect();
    if differences.len() > DIFFERENCES {
        lines.push(format!("… and {} more", differences.len() - DIFFERENCES));
    }
    lines
}
