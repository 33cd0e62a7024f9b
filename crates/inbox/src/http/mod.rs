//! The guard over HTTP, for axum handlers: the key as an extractor, each answer as a response.
//!
//! Guarantees: what is answered here is what Counterfoil's HTTP contract calls it, and says so in
//! `Counterfoil-Outcome` too. Does not: wrap a handler: the handler calls [`begin`](crate::begin)
//! itself, inside its own transaction, on a thread that may block.
//!
//! # Example
//!
//! A whole service, with authentication, core fields and a refusal, is this crate's example
//! `warehouse`; this is the middle of one:
//!
//! ```
//! use axum::{Router, body::Bytes, extract::State, response::Result, routing::post};
//! use counterfoil_core::domain::Digest;
//! use counterfoil_inbox::http::{Caller, IdempotencyKey, Problem, Reply};
//! use counterfoil_inbox::{RETENTION, begin};
//! use counterfoil_sqlite::InboxTx;
//! use rusqlite::{Connection, TransactionBehavior::Immediate};
//! use std::sync::{Arc, Mutex};
//!
//! type Db = Arc<Mutex<Connection>>;
//!
//! /// Blocking: one transaction around key, effect and outcome.
//! fn ship(db: &Db, source: &str, key: &str, body: &[u8]) -> Result<Reply> {
//!     let mut db = db.lock().map_err(Problem::unavailable)?;
//!     let tx = db.transaction_with_behavior(Immediate).map_err(Problem::unavailable)?;
//!     let begun = begin(InboxTx::new(tx), source, key, Digest::of(body), RETENTION)?;
//!     // Whatever is no first answers at once, with what is stored beside the key.
//!     let mut first = begun.first_or_reply()?;
//!     let insert = "INSERT INTO shipment(body) VALUES (?1)";
//!     first.rows().execute(insert, [body]).map_err(Problem::unavailable)?;
//!     let rows = first.finish(b"\"shipped\"")?;
//!     rows.into_inner().commit().map_err(Problem::unavailable)?;
//!     Ok(Reply::Completed(b"\"shipped\"".to_vec()))
//! }
//!
//! async fn handle(
//!     State(db): State<Db>,
//!     Caller(source): Caller,
//!     IdempotencyKey(key): IdempotencyKey,
//!     body: Bytes,
//! ) -> Result<Reply> {
//!     let work = move || ship(&db, source.as_str(), key.as_str(), &body);
//!     // A panic too is a 5xx: the sender does not know what happened, and repeats.
//!     tokio::task::spawn_blocking(work).await.map_err(Problem::unavailable)?
//! }
//!
//! let db = Connection::open_in_memory().unwrap();
//! let app: Router = Router::new()
//!     .route("/commands", post(handle))
//!     .with_state(Arc::new(Mutex::new(db)));
//! # let _ = app;
//! ```

mod caller;
mod idempotency_key;
mod percent;
mod problem;
mod reply;

pub use caller::Caller;
pub use idempotency_key::{IdempotencyKey, KeyRefused};
pub(crate) use percent::decode;
pub use problem::Problem;
pub use reply::Reply;
