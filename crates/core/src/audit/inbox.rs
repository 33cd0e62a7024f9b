//! Our book against the receiver's: each completed command has its key there, each key there is
//! a command of ours.
//!
//! Guarantees: what is written on both sides while it runs is no violation, since each direction
//! reads the later side last. Does not: know keys that the receiver has rightly forgotten; say
//! with `since` from when it must remember. Of archived commands, whose tombstones have no time, it
//! looks for no key; their keys there are compared.

use std::collections::BTreeSet;
use std::future::Future;

use super::page::Pages;
use super::report::{AuditReport, Findings};
use super::theirs::{repeated, theirs_first};
use super::{KEEP, PAGE};
use crate::domain::laws::{CommandFacts, Law, Violation, law};
use crate::domain::{Micros, Receipt, ReceiptOutcome};
use crate::port::Archive;
use crate::port::read::FactsFrom;
use crate::port::store::StoreError;

/// A key in the receiver's book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookEntry {
    /// The key: a command id.
    pub key: String,
    /// What the receiver stored: `Rejected`, or `Completed`; `None` where it stores no outcome,
    /// which counts as an effect.
    pub outcome: Option<ReceiptOutcome>,
    /// When the key came first.
    pub received_at: Micros,
    /// Where it stands, in words, if it is no text: then `key` is only like it, and no command can
    /// have it.
    pub place: Option<String>,
}

/// Keys that stand in the receiver's book more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeated {
    /// How many such keys there are.
    pub found: u64,
    /// The first of them, and how often each stands there.
    pub first: Vec<(String, u64)>,
}

/// The receiver's book, as far as it is about one store's commands.
pub trait InboxBook: Sync {
    /// Why the book cannot be read.
    type Error: std::error::Error + Send + Sync + 'static;

    /// What stands under each of these keys, in their order.
    ///
    /// # Errors
    /// What the book reports.
    fn has(
        &self,
        keys: &[String],
    ) -> impl Future<Output = Result<Vec<Option<BookEntry>>, Self::Error>> + Send;

    /// The keys after `after`, at most `limit`, in the order of the book.
    ///
    /// # Errors
    /// What the book reports.
    fn page(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<BookEntry>, Self::Error>> + Send;

    /// The keys that stand there more than once; at most `limit` by name. Default: none, where a
    /// key can stand there once only.
    ///
    /// # Errors
    /// What the book reports.
    fn repeated(&self, limit: usize) -> impl Future<Output = Result<Repeated, Self::Error>> + Send {
        let _ = limit;
        async { Ok(Repeated::default()) }
    }

    /// How many keys are best looked up or read at once, where `page` commands are. Default: as
    /// many; a book that is read from its beginning each time wants more.
    fn at_once(&self, page: usize) -> usize {
        page
    }
}

/// What is matched, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InboxMatch {
    /// The destinations that this receiver serves; empty: all.
    pub destinations: BTreeSet<String>,
    /// Commands that ended before this are not looked for there: the receiver may have forgotten
    /// them. Default: all are.
    pub since: Option<Micros>,
    /// Only commands that completed are looked for there. Default: all that ended.
    pub completed_only: bool,
    /// How many rows are read at once. Default 1,000; 0 counts as 1.
    pub page: usize,
    /// How many violations are kept in full; all are counted. Default 1,000.
    pub keep: usize,
}

impl Default for InboxMatch {
    fn default() -> Self {
        let destinations = BTreeSet::new();
        Self { destinations, since: None, completed_only: false, page: PAGE, keep: KEEP }
    }
}

impl InboxMatch {
    /// Adds a destination that this receiver serves.
    #[must_use]
    pub fn destination(mut self, name: impl Into<String>) -> Self {
        self.destinations.insert(name.into());
        self
    }

    /// Looks only for commands that ended at `time` or after.
    #[must_use]
    pub const fn since(mut self, time: Micros) -> Self {
        self.since = Some(time);
        self
    }

    /// Looks only for commands that completed.
    #[must_use]
    pub const fn completed_only(mut self) -> Self {
        self.completed_only = true;
        self
    }

    /// Sets how many rows are read at once.
    #[must_use]
    pub const fn page(mut self, page: usize) -> Self {
        self.page = page;
        self
    }

    fn concerns(&self, facts: &CommandFacts) -> bool {
        facts.outbox.as_ref().is_some_and(|row| self.serves(row.destination.as_str()))
    }

    /// Whether this receiver serves a destination.
    pub(super) fn serves(&self, destination: &str) -> bool {
        self.destinations.is_empty() || self.destinations.contains(destination)
    }
}

/// Why the books could not be matched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MatchError<E: std::error::Error + 'static> {
    /// Our side.
    #[error(transparent)]
    Store(StoreError),
    /// Their side.
    #[error("the receiver's book cannot be read: {0}")]
    Inbox(#[source] E),
    /// The book's pages do not go on.
    #[error("the receiver's book says {key} again and again: its pages must go on after a key")]
    StandsStill {
        /// The key after which nothing new comes.
        key: String,
    },
}

/// Matches the store's commands with the receiver's book.
///
/// # Errors
/// [`MatchError`] if one of the two cannot be read.
pub async fn match_inbox<S: Archive, B: InboxBook>(
    store: &S,
    theirs: &B,
    options: InboxMatch,
) -> Result<AuditReport, MatchError<B::Error>> {
    let mut findings = Findings::new(options.keep);
    ours_first(store, theirs, &options, &mut findings).await?;
    theirs_first(store, theirs, &options, &mut findings).await?;
    repeated(theirs, options.keep, &mut findings).await?;
    Ok(findings.into_report())
}

async fn ours_first<S: Archive, B: InboxBook>(
    store: &S,
    theirs: &B,
    options: &InboxMatch,
    findings: &mut Findings,
) -> Result<(), MatchError<B::Error>> {
    let at_once = theirs.at_once(options.page.max(1));
    let mut ended = Vec::new();
    let mut pages = Pages::new(store, FactsFrom::default(), options.page.max(1));
    while let Some(facts) = pages.next().await.map_err(MatchError::Store)? {
        for facts in &facts.commands {
            match options.ended(facts) {
                Some(command) if options.is_forgotten(&command) => findings.checked.too_old += 1,
                command => ended.extend(command),
            }
        }
        if ended.len() >= at_once {
            look_up(theirs, std::mem::take(&mut ended), findings).await?;
        }
    }
    look_up(theirs, ended, findings).await
}

async fn look_up<B: InboxBook>(
    theirs: &B,
    ended: Vec<Ended>,
    findings: &mut Findings,
) -> Result<(), MatchError<B::Error>> {
    let keys: Vec<String> = ended.iter().map(|command| command.id.clone()).collect();
    let found = theirs.has(&keys).await.map_err(MatchError::Inbox)?;
    findings.checked.looked_up += ended.len() as u64;
    for (command, entry) in ended.iter().zip(found) {
        findings.add(compare(command, entry.as_ref()));
    }
    Ok(())
}

/// A command that ended, as far as it is matched.
struct Ended {
    id: String,
    /// When.
    at: Micros,
    /// How its newest round ended.
    outcome: ReceiptOutcome,
    /// Whether the receiver said so.
    by_receiver: bool,
    /// Whether any round ended with an effect.
    acted: bool,
}

impl InboxMatch {
    /// Whether the receiver may have forgotten it.
    fn is_forgotten(&self, command: &Ended) -> bool {
        self.since.is_some_and(|since| command.at < since)
    }

    /// The command, if it is looked for in the receiver's book, unless that was too long ago.
    fn ended(&self, facts: &CommandFacts) -> Option<Ended> {
        let receipts = facts.receipts.iter().map(|entry| &entry.receipt);
        let newest = receipts.max_by_key(|receipt| receipt.round)?;
        let (outcome, by_receiver) = (newest.outcome, by_receiver(newest));
        let open = facts.delivery.is_some();
        let wanted = !self.completed_only || (outcome == ReceiptOutcome::Completed && by_receiver);
        let looked = !open && wanted && self.concerns(facts);
        let (id, at, acted) = (facts.id.clone(), newest.recorded_at, acted(facts));
        looked.then_some(Ended { id, at, outcome, by_receiver, acted })
    }
}

/// Whether any round of the command ended with an effect.
fn acted(facts: &CommandFacts) -> bool {
    facts.receipts.iter().any(|entry| is_effect(entry.receipt.outcome))
}

pub(super) const fn is_effect(outcome: ReceiptOutcome) -> bool {
    matches!(outcome, ReceiptOutcome::Completed | ReceiptOutcome::Accepted)
}

/// What a person found out is a person's word: the receiver may have acted without the key.
fn by_receiver(receipt: &Receipt) -> bool {
    !receipt.source.starts_with("operator")
}

fn compare(command: &Ended, entry: Option<&BookEntry>) -> Option<Violation> {
    let Ended { id, outcome, by_receiver, acted, .. } = command;
    let refused = entry.map(|entry| entry.outcome == Some(ReceiptOutcome::Rejected));
    let Some(is_refused) = refused else {
        let is_missing = *outcome == ReceiptOutcome::Completed && *by_receiver;
        let found = "completed here, but its key is not in the receiver's book";
        return is_missing.then(|| told(&law::KEY_MISSING, id, *outcome, found));
    };
    let (law, found) = contradiction(*outcome, is_refused)?;
    let is_excused = if *outcome == ReceiptOutcome::Completed { !by_receiver } else { *acted };
    (!is_excused).then(|| told(law, id, *outcome, found))
}

/// What an outcome here and a key there say otherwise, if anything.
pub(super) const fn contradiction(
    outcome: ReceiptOutcome,
    is_refused: bool,
) -> Option<(&'static Law, &'static str)> {
    match (outcome, is_refused) {
        (ReceiptOutcome::Completed, true) => {
            Some((&law::KEY_REFUSED, "completed here, but refused in the receiver's book"))
        }
        (ReceiptOutcome::Rejected | ReceiptOutcome::Cancelled | ReceiptOutcome::Expired, false) => {
            Some((&law::KEY_ACTED, "the receiver acted on its key"))
        }
        _ => None,
    }
}

pub(super) fn told(law: &Law, id: &str, outcome: ReceiptOutcome, found: &str) -> Violation {
    let found = format!("command {id} ended {}: {found}", outcome.name());
    Violation::of(law, vec![id.to_owned()], &found)
}
