//! The suite that every store must pass: each case is one rule of the design.
//!
//! Guarantees: a store that passes may carry production's commands as far as the port can tell.
//! Does not: pull the plug; a store with a disk has tests of its own for that.
//!
//! ```
//! use counterfoil_testkit::exercise_store::{MemoryHands, run};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! run("records_a_new_command", MemoryHands::default()).await;
//! # });
//! ```
//!
//! [`store_suite!`](crate::store_suite) makes a test of each case.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a suite tells what is wrong by a panic, as tests do"
)]

mod acting;
mod announcing;
mod archive_cases;
mod archiving;
mod asking;
mod audit_cases;
mod auditing;
mod book;
mod cases;
mod claiming;
mod control;
mod counting;
mod decision;
mod draining;
mod erasing;
mod lane;
mod memory_hands;
mod patience;
mod recording;
mod report;
mod restoring;
mod scene;
mod sealing;
mod settling;
mod sweeping;
mod takeover;
mod telling;
mod unreadable;
mod view;
mod waiting;
mod workflows;

use std::future::Future;

use counterfoil_core::domain::Span;
use counterfoil_core::port::{Archive, Audited, BoxFuture, Store};

pub use memory_hands::MemoryHands;
pub use workflows::{Spoil, WorkflowHands, run_workflow, workflow_cases};

/// What the port cannot do, and a suite needs: time, strangers' rows, what was recorded.
///
/// Each value stands for one fresh, empty store on a clock of the test's own.
pub trait Hands: Send + Sync + 'static {
    /// The store.
    type Store: Store;

    /// The store, as one process sees it.
    fn store(&self) -> Self::Store;

    /// The same rows as a process sees them that opens them now, after a crash of the others.
    fn reopen(&self) -> BoxFuture<'_, Self::Store>;

    /// Lets time pass on all clocks of the store.
    fn advance(&self, span: Span);

    /// Steps the machine's wall clock only; `false` if this store reads no such clock.
    fn step_machine(&self, micros: i64) -> bool;

    /// The recorded acts, oldest first, each as `verb about by actor: reason`.
    fn acts(&self) -> BoxFuture<'_, Vec<String>>;

    /// Writes a row that strangers' SQL could write and no reader can decode; its id as people
    /// see it. `None` if this store admits no such row.
    fn put_unreadable<'a>(&'a self, destination: &'a str) -> BoxFuture<'a, Option<String>>;

    /// Removes an outbox row behind the store's back.
    fn lose_outbox_row<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()>;

    /// Makes an outbox row undecodable behind the store's back, with the body `evil`.
    fn hide_outbox_row<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()>;

    /// Removes a delivery behind the store's back.
    fn lose_delivery<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()>;

    /// Removes the receipts of a command behind the store's back.
    fn lose_receipt<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()>;

    /// Removes the tombstone of an archived command behind the store's back.
    fn lose_tombstone<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()>;

    /// A number that changes with every commit.
    fn commits(&self) -> BoxFuture<'_, u64>;

    /// A query of the user's own that answers these ids, in this order; `None` without SQL.
    fn query_of<'a>(&'a self, ids: &'a [&'a str]) -> BoxFuture<'a, Option<String>>;
}

/// One rule of the design.
pub struct Case<H> {
    /// The rule group.
    pub group: &'static str,
    /// The rule, in words.
    pub name: &'static str,
    run: fn(H) -> BoxFuture<'static, ()>,
}

impl<H: Hands> Case<H> {
    /// Runs it on a fresh store.
    ///
    /// # Panics
    /// If the store breaks the rule.
    pub async fn run(&self, hands: H) {
        (self.run)(hands).await;
    }
}

/// All cases.
#[must_use]
pub fn cases<H: Hands>() -> Vec<Case<H>> {
    crate::store_suite!(@list cases (H))
}

/// Runs the case of that name on a fresh store.
///
/// # Panics
/// If there is no such case, or if the store breaks its rule.
pub async fn run<H: Hands>(name: &str, hands: H) {
    let case = cases::<H>().into_iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("no case is named {name}"));
    case.run(hands).await;
}

/// All cases of a store with an archive; see [`archive_suite!`](crate::archive_suite).
#[must_use]
pub fn archive_cases<H: Hands<Store: Archive>>() -> Vec<Case<H>> {
    crate::archive_suite!(@list cases (H))
}

/// Runs the case of that name of the archive's suite on a fresh store.
///
/// # Panics
/// If there is no such case, or if the store breaks its rule.
pub async fn run_archive<H: Hands<Store: Archive>>(name: &str, hands: H) {
    let case = archive_cases::<H>().into_iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("no case is named {name}"));
    case.run(hands).await;
}

/// All cases of a store that can be audited from a seal; see
/// [`audit_suite!`](crate::audit_suite).
#[must_use]
pub fn audit_cases<H: Hands<Store: Audited + Archive>>() -> Vec<Case<H>> {
    crate::audit_suite!(@list cases (H))
}

/// Runs the case of that name of the audit's suite on a fresh store.
///
/// # Panics
/// If there is no such case, or if the store breaks its rule.
pub async fn run_audit<H: Hands<Store: Audited + Archive>>(name: &str, hands: H) {
    let case = audit_cases::<H>().into_iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("no case is named {name}"));
    case.run(hands).await;
}

/// Runs every case, each on a store of its own, and names all that fail.
///
/// # Panics
/// If the store breaks a rule; the message names each broken one.
pub async fn exercise_store<H: Hands, F: Future<Output = H>>(make: impl Fn() -> F) {
    let mut broken = Vec::new();
    for case in cases::<H>() {
        let name = format!("{}::{}", case.group, case.name);
        let hands = make().await;
        if tokio::spawn(async move { case.run(hands).await }).await.is_err() {
            broken.push(name);
        }
    }
    assert!(broken.is_empty(), "the store breaks {} rules: {broken:#?}", broken.len());
}
