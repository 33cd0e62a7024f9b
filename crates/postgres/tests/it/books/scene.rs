//! A store with commands that ended.

use std::time::Duration;

use counterfoil_core::audit::{AuditOptions, audit};
use counterfoil_core::domain::transition::Report;
use counterfoil_core::domain::{Command, CommandId, Micros, OrderingKey, ReceiptOutcome};
use counterfoil_core::port::archive::{Archive as _, Buried, EndedPage, Entry, Tombstone};
use counterfoil_core::port::store::Reported;
use counterfoil_core::port::{Act, Acted, Actor, Deed, Store as _};
use counterfoil_postgres::PostgresStore;

use crate::lanes::{completed, declare, exchange, terms};
use crate::private::PrivateServer;
use crate::server::{Stranger, TestSchema};

pub(super) const FILE: &str = "file-1";

pub(super) struct Books {
    pub(super) store: PostgresStore,
    /// A stranger: the guards hold for it.
    pub(super) sql: Stranger,
    /// Before the server, which it is dropped from.
    pub(super) schema: TestSchema,
    _server: Option<PrivateServer>,
}

impl Books {
    pub(super) async fn new() -> Self {
        Self::of(TestSchema::new().await, None).await
    }

    /// The same on a server where nobody else is: a transaction of anybody's that wrote before
    /// makes each snapshot look as old as itself.
    pub(super) async fn alone() -> Self {
        let server = PrivateServer::start(&[]);
        Self::of(TestSchema::new_at(server.url()).await, Some(server)).await
    }

    async fn of(schema: TestSchema, server: Option<PrivateServer>) -> Self {
        // Gates are closed for longer than a row is waited for.
        let mut options = schema.options();
        options.lock_timeout = Duration::from_secs(120);
        options.statement_timeout = Duration::from_secs(120);
        let store = PostgresStore::open(schema.url(), options).await.unwrap();
        let sql = schema.stranger().await;
        declare(&store, &terms()).await;
        Self { store, sql, schema, _server: server }
    }

    /// Records commands whose ends workers reported.
    pub(super) async fn reported(&self, ids: &[&str]) {
        for id in ids {
            self.enqueue(command(id)).await;
            self.sql.run(&format!("SELECT cf.complete('{id}', 'job 7'::text)")).await.unwrap();
        }
    }

    pub(super) async fn enqueue(&self, command: Command) {
        assert!(self.store.enqueue(vec![command]).await.unwrap()[0].is_ok());
    }

    /// Sends all that is due, with success.
    pub(super) async fn sent(&self, commands: Vec<Command>) {
        for command in commands {
            self.enqueue(command).await;
        }
        self.drained().await;
    }

    pub(super) async fn drained(&self) {
        let mut settles = Vec::new();
        loop {
            let done = exchange(&self.store, &terms(), settles, 50).await;
            if done.claimed.is_empty() {
                return;
            }
            settles = done.claimed.into_iter().map(|one| completed(one, &terms())).collect();
        }
    }

    pub(super) async fn page(&self, after: i64, limit: usize) -> EndedPage {
        self.store.ended(Micros::LATEST, after, limit).await.unwrap()
    }

    pub(super) async fn entry(&self, id: &str) -> Entry {
        self.store.entry(id).await.unwrap().unwrap_or_else(|| panic!("no entry of {id}"))
    }

    pub(super) async fn bury(&self, entries: Vec<Entry>) -> Vec<bool> {
        bury(&self.store, entries).await
    }

    pub(super) async fn buried(&self, id: &str) {
        let entry = self.entry(id).await;
        assert_eq!(self.bury(vec![entry]).await, [true], "{id}");
    }

    pub(super) async fn tombstone(&self, id: &str) -> Option<Tombstone> {
        self.store.tombstones_of(&[id.into()]).await.unwrap().remove(0)
    }

    pub(super) async fn act(&self, id: &str, act: Act) -> Acted {
        self.store.act(vec![deed(id, act)], ann()).await.unwrap().remove(0)
    }

    pub(super) async fn count(&self, table: &str) -> i64 {
        self.sql.number(&format!("SELECT count(*) FROM cf.{table}")).await
    }

    /// The audit holds.
    pub(super) async fn is_sound(&self) {
        let report = audit(&self.store, AuditOptions::default()).await.unwrap();
        assert!(report.holds, "{:?}", report.violations);
    }

    /// Lets burials stop when rows are gone and tombstones have come, before COMMIT, as long as the
    /// gate is closed.
    pub(super) async fn gate(&self, table: &str) -> Stranger {
        let number = self.number().await;
        let sql = format!(
            "CREATE OR REPLACE FUNCTION cf.gate() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN PERFORM pg_advisory_xact_lock_shared({number}); RETURN NULL; END $$;
             CREATE TRIGGER gate AFTER INSERT ON cf.{table} FOR EACH STATEMENT
             EXECUTE FUNCTION cf.gate();"
        );
        let gate = self.schema.stranger().await;
        gate.run(&sql).await.unwrap();
        gate.run(&format!("SELECT pg_advisory_lock({number})")).await.unwrap();
        gate
    }

    pub(super) async fn open(&self, gate: &Stranger) {
        let number = self.number().await;
        gate.run(&format!("SELECT pg_advisory_unlock({number})")).await.unwrap();
    }

    /// The number of its gate.
    pub(super) async fn number(&self) -> i64 {
        self.sql.number("SELECT 'cf.outbox'::regclass::oid").await
    }

    /// A burial that is under way.
    pub(super) fn burying(&self, entries: Vec<Entry>) -> tokio::task::JoinHandle<Vec<bool>> {
        let store = self.store.clone();
        tokio::spawn(async move { bury(&store, entries).await })
    }
}

pub(super) async fn bury(store: &PostgresStore, entries: Vec<Entry>) -> Vec<bool> {
    match store.bury(FILE, entries, None).await.unwrap() {
        Buried::Done(done) => done,
        Buried::SealMoved => panic!("no seal was given"),
    }
}

pub(super) fn ids(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.outbox.command_id.as_str()).collect()
}

pub(super) fn command(id: &str) -> Command {
    Command::bytes(id, "shop", "order.paid", format!("body of {id}")).unwrap()
}

pub(super) fn in_lane(id: &str) -> Command {
    command(id).ordering_key(OrderingKey::new("K").unwrap())
}

pub(super) fn ann() -> Actor {
    Actor { name: "ann".into(), reason: "she looked".into() }
}

pub(super) fn deed(id: &str, act: Act) -> Deed {
    Deed { command_id: id.into(), act, by_filter: false }
}

pub(super) const AGAIN: Act = Act::Redeliver { may_act_twice: true };

/// A report as a worker brings it over HTTP.
pub(super) async fn report(
    store: &PostgresStore,
    id: &str,
    outcome: ReceiptOutcome,
    token: Option<i64>,
) -> Reported {
    let report = Report {
        outcome,
        result: None,
        evidence: Some("said so".into()),
        source: "worker".into(),
        token: token.map(counterfoil_core::domain::Token::new),
        equals_earlier: false,
    };
    store.report(&CommandId::new(id).unwrap(), report).await.unwrap()
}
