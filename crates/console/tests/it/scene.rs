//! One store with one destination, and an API over it: what nearly every case begins with.
//!
//! Guarantees: the API listens on a port of its own, and ends with the scene. Does not: check
//! rules; cases do.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use counterfoil_console::{Api, ApiError, ApiOptions, Role, Token};
use counterfoil_core::domain::{
    Command, Contract, Destination, Digest, Idempotent, Outcome, ResultBody, Seed, Terms,
};
use counterfoil_core::port::store::{ClaimFrom, Claimed, Ended, Exchange, Recorded, Settle};
use counterfoil_core::port::{Archive, Audited, Store, Workflows};
use counterfoil_sqlite::{Options, SqliteStore, init, open_own};
use counterfoil_testkit::memory_store::rows::Tombstone;
use counterfoil_testkit::{ManualClock, MemoryStore};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{Answered, request, send};

pub(crate) const SHOP: &str = "Authorization: Bearer secret-of-the-shop";
pub(crate) const EYE: &str = "Authorization: Bearer secret-of-the-eye";
pub(crate) const OPS: &str = "Authorization: Bearer secret-of-the-ops";
const DESTINATION: &str = "shop";

/// One token a role, and short waits.
pub(crate) fn options() -> ApiOptions {
    let mut options = ApiOptions::default();
    options.tokens = vec![
        Token::new("shop", Role::Receipt, "secret-of-the-shop").unwrap(),
        Token::new("eye", Role::Read, "secret-of-the-eye").unwrap(),
        Token::new("ops", Role::Operator, "secret-of-the-ops").unwrap(),
    ];
    options.read_timeout = Duration::from_secs(5);
    options
}

/// An API that is being served.
pub(crate) struct Scene<S> {
    pub(crate) store: S,
    pub(crate) clock: ManualClock,
    pub(crate) at: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<Result<(), ApiError>>,
    folder: Option<tempfile::TempDir>,
    terms: Arc<Terms>,
    bury: fn(&Self, &str, &str),
}

pub(crate) async fn in_memory(options: ApiOptions) -> Scene<MemoryStore> {
    let clock = ManualClock::default();
    let store = MemoryStore::new(clock.clone());
    let bury = |scene: &Scene<MemoryStore>, id: &str, outcome: &str| {
        let tombstone = Tombstone {
            destination: DESTINATION.into(),
            kind: "order.paid".into(),
            ordering_key: None,
            digest: Digest::of(b""),
            outcome: outcome.into(),
            rounds: 1,
            file: "a.jsonl.zst".into(),
        };
        scene.store.with_rows(|rows| rows.archived.insert(id.into(), tombstone));
    };
    Scene::new(store, clock, options, None, bury).await
}

pub(crate) async fn in_a_file(options: ApiOptions) -> Scene<SqliteStore> {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(folder.path());
    init(&path, Some("urn:test")).unwrap();
    let clock = ManualClock::default();
    let machine = Arc::new(clock.clone());
    let store = SqliteStore::open_with_clock(&path, Options::default(), machine).unwrap();
    let bury = |scene: &Scene<SqliteStore>, id: &str, outcome: &str| {
        let digest = Digest::of(b"");
        let bury = "INSERT INTO counterfoil_archived VALUES \
                    (?1, 'shop', 'order.paid', NULL, ?2, ?3, 1, 'f.zst', NULL)";
        let values = rusqlite::params![id, digest.as_bytes(), outcome];
        open_own(&scene.path()).unwrap().0.execute(bury, values).unwrap();
    };
    Scene::new(store, clock, options, Some(folder), bury).await
}

fn path_in(folder: &Path) -> PathBuf {
    folder.join("s.db")
}

impl<S: Audited + Archive + Workflows> Scene<S> {
    async fn new(
        store: S,
        clock: ManualClock,
        options: ApiOptions,
        folder: Option<tempfile::TempDir>,
        bury: fn(&Self, &str, &str),
    ) -> Self {
        let terms = Arc::new(Terms::new(Contract::new(Idempotent::Forever)));
        store.declare(&destination(), &terms.contract, false).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let api = Api::new(store.clone(), options).unwrap();
        let (stop, stopped) = oneshot::channel();
        let stopped = async { stopped.await.unwrap_or(()) };
        let served = tokio::spawn(api.serve(listener, stopped));
        Self { store, clock, at, stop: Some(stop), served, folder, terms, bury }
    }
}

impl<S: Store> Scene<S> {
    /// The file of its store.
    pub(crate) fn path(&self) -> PathBuf {
        path_in(self.folder.as_ref().unwrap().path())
    }

    /// Tells the API to end; the task that serves.
    pub(crate) fn stop(mut self) -> JoinHandle<Result<(), ApiError>> {
        self.stop.take().unwrap().send(()).unwrap();
        self.served
    }

    pub(crate) async fn enqueue(&self, id: &str) {
        let command = Command::bytes(id, DESTINATION, "order.paid", "{}").unwrap();
        let answers = self.store.enqueue(vec![command]).await.unwrap();
        assert_eq!(answers, [Ok(Recorded::Recorded)], "enqueue of {id}");
    }

    /// Claims what is due: exactly one command.
    pub(crate) async fn claim(&self) -> Claimed {
        let terms = Arc::clone(&self.terms);
        let claim_from = vec![ClaimFrom { destination: destination(), limit: 10, terms }];
        let exchange = Exchange {
            claim_from,
            claim_limit: 10,
            owner: "relay-1".into(),
            seed: 7,
            ..Exchange::default()
        };
        let mut claimed = self.store.exchange(exchange).await.unwrap().claimed;
        assert_eq!(claimed.len(), 1, "claims: {claimed:?}");
        claimed.remove(0)
    }

    pub(crate) async fn settle(&self, claimed: &Claimed, outcome: Outcome) {
        let settle = Settle {
            claimed: claimed.clone(),
            ended: Ended::Outcome(outcome),
            started_at: self.store.now().unwrap(),
            burns: true,
            seed: Seed(3),
            terms: Arc::clone(&self.terms),
        };
        let settles = vec![settle];
        self.store.exchange(Exchange { settles, ..Exchange::default() }).await.unwrap();
    }

    /// Puts a tombstone, as the archive leaves one.
    pub(crate) fn bury(&self, id: &str, outcome: &str) {
        (self.bury)(self, id, outcome);
    }

    pub(crate) async fn post(&self, headers: &[&str], body: impl AsRef<[u8]>) -> Answered {
        send(self.at, request("POST /v1/receipts", headers, body.as_ref())).await
    }

    /// Reports as the shop does.
    pub(crate) async fn report(&self, body: &Value) -> Answered {
        self.post(&[SHOP], body.to_string()).await
    }

    pub(crate) async fn get(&self, path: &str, headers: &[&str]) -> Answered {
        send(self.at, request(&format!("GET {path}"), headers, b"")).await
    }

    /// The story that the API tells.
    pub(crate) async fn story(&self, id: &str) -> Value {
        let answered = self.get(&format!("/v1/commands/{id}"), &[EYE]).await;
        assert_eq!(answered.status, 200, "{answered:?}");
        answered.json()
    }
}

fn destination() -> Destination {
    Destination::new(DESTINATION).unwrap()
}

pub(crate) fn completed() -> Outcome {
    Outcome::Completed { result: ResultBody::whole("done"), evidence: "HTTP 200".into() }
}
