//! A receiver that is asked key by key: `--inbox ask`.
//!
//! Guarantees: a question never acts; it asks at a bounded rate, and only about commands that
//! completed and that the receiver must still know. Does not: find effects that nobody asked for; a
//! receiver that is asked by key cannot list them. A bare 404 is not believed here either.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use counterfoil_core::audit::{AuditReport, BookEntry, InboxBook, InboxMatch, match_inbox};
use counterfoil_core::domain::{Answer, CommandId, Idempotent, Micros, ReceiptOutcome};
use counterfoil_core::port::store::StoreError;
use counterfoil_core::port::{Question, Store, Transport};

use super::super::transport::transport;
use crate::config::destination::Way;
use crate::config::{Config, DestinationSettings, RelaySettings};
use crate::exit::Failure;
use crate::store::OpenStore;

/// Questions a second, unless the destination's `rate` is lower.
const QUESTIONS: u32 = 50;
/// No command is called so: whoever says that this one is done says so about any.
const NO_COMMAND: &str = "counterfoil audit";

/// What came of asking.
pub(super) struct Asked {
    /// What was found.
    pub(super) report: AuditReport,
    /// How many answers were none.
    pub(super) unclear: u64,
    /// Commands that ended before this were not asked about; `None`: all were.
    pub(super) since: Option<Micros>,
    /// What speaks against how far back was looked.
    pub(super) notes: Vec<String>,
}

impl Asked {
    /// Both in one: what ended since the later of both times was asked about at both.
    fn and(mut self, other: Self) -> Self {
        self.report = self.report.and(other.report);
        self.unclear += other.unclear;
        self.since = self.since.max(other.since);
        self.notes.extend(other.notes);
        self
    }
}

/// Asks every destination that can be asked, or those that are named.
///
/// # Errors
/// None can be asked, or the store or the configuration cannot be read.
pub(super) async fn asked(
    store: &OpenStore,
    config: Option<&Config>,
    relay: &RelaySettings,
    only: &[String],
) -> Result<Asked, Failure> {
    let Some(config) = config else {
        let text = "--inbox ask: there is no configuration that says how a receiver is asked";
        return Err(Failure::could_not_run(text).help("name it with --config"));
    };
    let mut all: Option<Asked> = None;
    for destination in config.destinations(relay, &[])? {
        let is_named = only.is_empty() || only.iter().any(|name| name == destination.name.as_str());
        if !is_named || destination.ask_url.is_none() || destination.way != Way::Http {
            continue;
        }
        let asked = of_one(store, config, relay, &destination).await?;
        all = Some(match all {
            None => asked,
            Some(all) => all.and(asked),
        });
    }
    all.ok_or_else(|| {
        let text = "--inbox ask: no destination that is looked at has an `ask`";
        Failure::could_not_run(text)
            .help("give one ask = { url = \"https://…/{command_id}\" }, or name another --inbox")
    })
}

async fn of_one(
    store: &OpenStore,
    config: &Config,
    relay: &RelaySettings,
    destination: &DestinationSettings,
) -> Result<Asked, Failure> {
    let book = AskedBook {
        transport: transport(config, relay, destination, None)?,
        store: store.clone(),
        pause: pause(destination),
        keys: AtomicU64::new(0),
        unclear: AtomicU64::new(0),
    };
    let nobody = CommandId::new(NO_COMMAND).map_err(Failure::could_not_run)?;
    let name = destination.name.as_str();
    if let Answer::Done { .. } | Answer::Refused { .. } = book.ask(nobody).await? {
        let text = format!("--inbox ask: {name} says of a command that never was that it ended");
        return Err(Failure::could_not_run(text).help("so its answers prove nothing: see doctor"));
    }
    let mut options = InboxMatch::default().destination(name).completed_only();
    let since = since(store.now()?, destination);
    options.since = since;
    let matched = match_inbox(store, &book, options).await;
    let mut report = matched.map_err(Failure::could_not_run)?;
    // Of such a receiver those keys are looked at that were asked about.
    report.checked.keys += book.keys.into_inner();
    Ok(Asked { report, unclear: book.unclear.into_inner(), since, notes: Vec::new() })
}

/// From when on the receiver must still know what it did.
fn since(now: Micros, destination: &DestinationSettings) -> Option<Micros> {
    match destination.terms.contract.idempotent {
        Idempotent::Window { key_ttl } => Some(Micros::new(now.get() - key_ttl.as_micros())),
        _ => None,
    }
}

fn pause(destination: &DestinationSettings) -> Duration {
    let usual = Duration::from_secs(1) / QUESTIONS;
    let own = destination.limits.rate.map(|rate| rate.per.to_std() / rate.count.max(1));
    own.map_or(usual, |own| own.max(usual))
}

struct AskedBook {
    transport: Arc<dyn Transport>,
    store: OpenStore,
    pause: Duration,
    keys: AtomicU64,
    unclear: AtomicU64,
}

impl AskedBook {
    async fn ask(&self, command_id: CommandId) -> Result<Answer, StoreError> {
        let (source, now) = (self.store.source(), self.store.now()?);
        let question = Question { command_id, source, now, trace: None };
        let answer = self.transport.ask(&question).await;
        tokio::time::sleep(self.pause).await;
        Ok(answer)
    }
}

impl InboxBook for AskedBook {
    type Error = StoreError;

    async fn has(&self, keys: &[String]) -> Result<Vec<Option<BookEntry>>, StoreError> {
        let mut entries = Vec::with_capacity(keys.len());
        for key in keys {
            self.keys.fetch_add(1, Ordering::Relaxed);
            let answer = match CommandId::new(key.as_str()) {
                Ok(id) => self.ask(id).await?,
                Err(refused) => Answer::Unclear { reason: refused.to_string() },
            };
            let outcome = match answer {
                Answer::NotThere { believed: true, .. } => None,
                Answer::Refused { .. } => Some(ReceiptOutcome::Rejected),
                Answer::Done { .. } => Some(ReceiptOutcome::Completed),
                // What is not denied is no violation.
                _ => {
                    self.unclear.fetch_add(1, Ordering::Relaxed);
                    Some(ReceiptOutcome::Completed)
                }
            };
            entries.push(outcome.map(|outcome| BookEntry {
                key: key.clone(),
                outcome: Some(outcome),
                received_at: Micros::default(),
                place: None,
            }));
        }
        Ok(entries)
    }

    async fn page(&self, _: Option<&str>, _: usize) -> Result<Vec<BookEntry>, StoreError> {
        Ok(Vec::new())
    }
}
