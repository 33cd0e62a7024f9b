//! The receiver's side of Counterfoil: a guard that folds repeats of a key into one effect.
//!
//! Guarantees: the key, the business write and the outcome commit in one transaction of the
//! receiver's own, or none of them does; a repeat gets the stored outcome, success or refusal.
//! Does not: protect an effect outside that transaction (a mail, another service): issue a
//! command for it beside the business write.
//!
//! **A guard, not a layer.** A layer that caches responses around a handler writes its key in
//! another transaction than the handler's: a crash between the two acts twice, or answers for
//! what was never done. Such a layer is at-least-once, whatever it is called. Here [`begin`] takes
//! the key *inside* the transaction of the business write, before anything else is written.
//!
//! # Example
//!
//! ```
//! use counterfoil_inbox::{Begun, RETENTION, begin};
//! use counterfoil_core::domain::Digest;
//! use counterfoil_sqlite::InboxTx;
//! use rusqlite::{Connection, TransactionBehavior::Immediate};
//!
//! /// Ships once; how often the command comes does not matter.
//! fn ship(db: &mut Connection, source: &str, key: &str, body: &[u8]) -> Result<String, String> {
//!     let failed = |error: &dyn std::error::Error| error.to_string();
//!     let tx = db.transaction_with_behavior(Immediate).map_err(|e| failed(&e))?;
//!     match begin(InboxTx::new(tx), source, key, Digest::of(body), RETENTION) {
//!         Ok(Begun::First(mut first)) => {
//!             let insert = "INSERT INTO shipment(body) VALUES (?1)";
//!             first.rows().execute(insert, [body]).map_err(|e| failed(&e))?;
//!             let rows = first.finish(b"shipped").map_err(|e| failed(&e))?;
//!             rows.into_inner().commit().map_err(|e| failed(&e))?;
//!             Ok("shipped".into())
//!         }
//!         Ok(Begun::Repeat(stored)) => Ok(String::from_utf8_lossy(&stored.result).into()),
//!         Ok(Begun::Conflict) => Err("422: same key, other content".into()),
//!         Ok(Begun::Unfinished { .. } | Begun::Busy) => Err("409: ask again later".into()),
//!         Err(error) => Err(failed(&error)),
//!     }
//! }
//!
//! let file = tempfile::NamedTempFile::new().unwrap();
//! let mut db = Connection::open(file.path()).unwrap();
//! counterfoil_sqlite::migrate(&mut db, None).unwrap();
//! db.execute_batch("CREATE TABLE shipment(body BLOB)").unwrap();
//! for _ in 0..3 {
//!     assert_eq!(ship(&mut db, "urn:shop", "A-1", b"{}"), Ok("shipped".into()));
//! }
//! assert!(ship(&mut db, "urn:shop", "A-1", b"{\"qty\":2}").is_err());
//! let shipped = |row: &rusqlite::Row| row.get::<_, i64>(0);
//! assert_eq!(db.query_row("SELECT count(*) FROM shipment", [], shipped), Ok(1));
//! ```

mod asynchronous;
mod core_digest;
mod guard;
/// The code of the page for receivers, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/inbox.md")]
mod page {}
#[cfg(feature = "axum")]
pub mod http;
#[cfg(feature = "axum")]
pub mod receiver;
mod source;

pub use asynchronous::begin_async;
pub use core_digest::{CoreRefused, core_digest};
pub use guard::{Begun, First, InboxError, RESULT_BYTES_LIMIT, RETENTION, Stored, begin};
pub use source::{Source, SourceRefused};
