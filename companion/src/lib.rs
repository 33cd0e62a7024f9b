//! Enqueue and report inside a `sqlx` transaction on a SQLite store of Counterfoil.
//!
//! Guarantees: a command, and a report, stands or falls with the transaction; the same answers as
//! the door on `rusqlite`, by the same guards and statements; what is refused leaves the
//! transaction usable. Does not: commit, nor roll back after a stale token, the user does; write
//! decisions, which need a `rusqlite` connection; create the schema, which `counterfoil init` and
//! `counterfoil_sqlite::migrate` do.
//!
//! Begin with `BEGIN IMMEDIATE`, as every writer of a SQLite file does.
//!
//! # Example
//! ```no_run
//! # async fn pay(pool: &sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
//! use counterfoil_core::domain::Command;
//! use counterfoil_sqlite_sqlx::SqlxOutbox as _;
//!
//! let mut order = pool.begin_with("BEGIN IMMEDIATE").await?;
//! sqlx::query("INSERT INTO orders VALUES ('A-001', 1)").execute(&mut *order).await?;
//! let body = serde_json::json!({"order_id": "A-001"});
//! order.enqueue(&Command::json("order.paid:A-001", "shipping", "order.paid", &body)?).await?;
//! order.commit().await?;
//! # Ok(())
//! # }
//! ```

mod outbox;
mod refused;
mod report;

pub use outbox::SqlxOutbox;
pub use refused::EnqueueError;
