//! The hands of a store in memory, for the suite's own test and for suites of engines.
//!
//! Guarantees: what they do goes around the port. Does not: check anything.

use counterfoil_core::domain::Span;
use counterfoil_core::domain::workflow::InputKind;
use counterfoil_core::port::{BoxFuture, Store as _};

use super::{Hands, Spoil, WorkflowHands};
use crate::memory_store::rows::Unreadable;
use crate::{ManualClock, MemoryStore};

/// A fresh store in memory and its clock.
#[derive(Clone)]
pub struct MemoryHands {
    /// The clock.
    pub clock: ManualClock,
    /// The store.
    pub store: MemoryStore,
}

impl Default for MemoryHands {
    fn default() -> Self {
        let clock = ManualClock::default();
        Self { store: MemoryStore::new(clock.clone()).patient(), clock }
    }
}

impl Hands for MemoryHands {
    type Store = MemoryStore;

    fn store(&self) -> MemoryStore {
        self.store.clone()
    }

    fn reopen(&self) -> BoxFuture<'_, MemoryStore> {
        Box::pin(async { self.store.reopen(self.clock.clone()) })
    }

    fn advance(&self, span: Span) {
        self.clock.advance(span);
    }

    fn step_machine(&self, micros: i64) -> bool {
        self.clock.step_machine(micros);
        true
    }

    fn acts(&self) -> BoxFuture<'_, Vec<String>> {
        let acts = self.store.with_rows(|rows| {
            let acts = rows.actions.iter();
            acts.map(|act| format!("{} {} by {}: {}", act.verb, act.about, act.actor, act.reason))
                .collect()
        });
        Box::pin(async { acts })
    }

    fn put_unreadable<'a>(&'a self, destination: &'a str) -> BoxFuture<'a, Option<String>> {
        let id = b"bad \xff id";
        self.store.put_unreadable(id, destination);
        Box::pin(async { Some(String::from_utf8_lossy(id).into_owned()) })
    }

    fn lose_outbox_row<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        self.store.with_rows(|rows| {
            if let Some(n) = rows.ids.remove(command_id.as_bytes()) {
                rows.outbox.remove(&n);
            }
        });
        Box::pin(async {})
    }

    fn hide_outbox_row<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        self.store.with_rows(|rows| {
            let n = rows.n_of(command_id).unwrap_or_default();
            let Some(entry) = rows.outbox.get_mut(&n) else { return };
            entry.row = Err(Unreadable {
                command_id: command_id.into(),
                destination: entry.destination().to_owned(),
                body: b"evil".to_vec(),
                why: "the kind is empty".into(),
                recorded_at: entry.recorded_at(),
            });
        });
        Box::pin(async {})
    }

    fn lose_delivery<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        self.store.with_rows(|rows| {
            let n = rows.n_of(command_id).unwrap_or_default();
            rows.deliveries.remove(&n);
        });
        Box::pin(async {})
    }

    fn lose_receipt<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        self.store.with_rows(|rows| {
            let lost = rows.n_of(command_id).unwrap_or_default();
            rows.receipts.retain(|(n, _), _| *n != lost);
        });
        Box::pin(async {})
    }

    fn lose_tombstone<'a>(&'a self, command_id: &'a str) -> BoxFuture<'a, ()> {
        self.store.with_rows(|rows| {
            rows.archived.remove(command_id);
        });
        Box::pin(async {})
    }

    fn commits(&self) -> BoxFuture<'_, u64> {
        Box::pin(async { self.store.commits() })
    }

    fn query_of<'a>(&'a self, ids: &'a [&'a str]) -> BoxFuture<'a, Option<String>> {
        let sql = "SELECT id FROM mine";
        self.store.expect(sql, ids.iter().map(ToString::to_string));
        Box::pin(async { Some(sql.to_owned()) })
    }
}

impl WorkflowHands for MemoryHands {
    fn forge_input<'a>(
        &'a self,
        stream: &'a str,
        id: &'a str,
        kind: InputKind,
        name: &'a str,
    ) -> BoxFuture<'a, ()> {
        let now = self.store.now().unwrap_or_default();
        self.store.with_rows(|rows| {
            rows.put_input(stream, id.into(), kind, name.into(), (None, None), now);
        });
        Box::pin(async {})
    }

    fn set_aside<'a>(&'a self, stream: &'a str, id: &'a str) -> BoxFuture<'a, ()> {
        self.store.with_rows(|rows| {
            let at = (stream.to_owned(), id.to_owned());
            rows.inputs.entry(at).and_modify(|input| input.workflow = None);
        });
        Box::pin(async {})
    }

    fn spoil<'a>(&'a self, spoil: &'a Spoil) -> BoxFuture<'a, ()> {
        self.store.with_rows(spoil.rows);
        Box::pin(async {})
    }
}
