//! The guard over HTTP, for axum handlers: the key as an extractor, each answer as a response.
//!
//! Guarantees: what is answered here is what Counterfoil's HTTP contract calls it, and says so in
//! `Counterfoil-Outcome` too. Does not: wrap a handler: the handler calls [`begin`](crate::begin)
//! itself, inside its own transaction, on a thread that may block.
//!
//! # Example
//!
//! ```
//! use axum::{Router, body::Bytes, extract::State, routing::post};
//! use counterfoil_core::domain::Digest;
//! use counterfoil_inbox::http::{IdempotencyKey, Reply};
//! use counterfoil_inbox::{Begun, RETENTION, begin};
//! use counterfoil_sqlite::InboxTx;
//! use rusqlite::{Connection, TransactionBehavior::Immediate};
//! use std::sync::{Arc, Mutex};
//!
//! type Db = Arc<Mutex<Connection>>;
//!
//! /// Blocking: one transaction around key, effect and outcome.
//! fn ship(db: &Db, source: &str, key: &str, body: &[u8]) -> Result<Reply, String> {
//!     let mut db = db.lock().map_err(|e| e.to_string())?;
//!     let tx = db.transaction_with_behavior(Immediate).map_err(|e| e.to_string())?;
//!     let begun = begin(InboxTx::new(tx), source, key, Digest::of(body), RETENTION);
//!     Ok(match begun.map_err(|e| e.to_string())? {
//!         Begun::First(mut first) => {
//!             let insert = "INSERT INTO shipment(body) VALUES (?1)";
//!             first.rows().execute(insert, [body]).map_err(|e| e.to_string())?;
//!             let rows = first.finish(b"\"shipped\"").map_err(|e| e.to_string())?;
//!             rows.into_inner().commit().map_err(|e| e.to_string())?;
//!             Reply::Completed(b"\"shipped\"".to_vec())
//!         }
//!         Begun::Repeat(stored) => stored.into(),
//!         Begun::Unfinished { .. } => Reply::Unfinished,
//!         Begun::Conflict => Reply::Conflict,
//!         Begun::Busy => Reply::Busy,
//!     })
//! }
//!
//! async fn handle(
//!     State(db): State<Db>,
//!     IdempotencyKey(key): IdempotencyKey,
//!     body: Bytes,
//! ) -> Result<Reply, axum::http::StatusCode> {
//!     // Here every caller is the same; else take the source from the authenticated one.
//!     let work = move || ship(&db, "urn:example:orders", key.as_str(), &body);
//!     let done = tokio::task::spawn_blocking(work).await;
//!     // 5xx: the sender does not know what happened, and repeats.
//!     done.ok().and_then(Result::ok).ok_or(axum::http::StatusCode::INTERNAL_SERVER_ERROR)
//! }
//!
//! let db = Connection::open_in_memory().unwrap();
//! let app: Router = Router::new()
//!     .route("/commands", post(handle))
//!     .with_state(Arc::new(Mutex::new(db)));
//! # let _ = app;
//! ```

mod idempotency_key;
mod percent;
mod problem;
mod reply;

pub use idempotency_key::{IdempotencyKey, KeyRefused};
pub(crate) use percent::decode;
pub use problem::Problem;
pub use reply::Reply;
