//! The shop of a drill: orders, and paying one together with its command in one transaction.
//!
//! Guarantees: an order is paid at most once, and its command stands beside it or neither does.
//! Does not: use any connection but the shop's own, as a user's program would.

use std::path::Path;
use std::time::Duration;

use counterfoil_core::domain::Command;
use counterfoil_sqlite::Outbox;
use rusqlite::{Connection, TransactionBehavior};

use crate::exit::Failure;

/// The destination of a drill.
pub(super) const DESTINATION: &str = "shipping";
/// The kind of its commands.
pub(super) const KIND: &str = "order.paid";
/// How long the shop waits for the other writers of its file.
const PATIENCE: Duration = Duration::from_secs(30);

/// The orders of a shop.
pub(super) struct Orders(Connection);

/// The id of the `n`-th order.
pub(super) fn order_id(n: u32) -> String {
    format!("A-{n:06}")
}

/// The id of the command that ships an order.
pub(super) fn command_id(order: &str) -> String {
    format!("{KIND}:{order}")
}

impl Orders {
    /// Opens the shop's own connection.
    ///
    /// # Errors
    /// What SQLite says.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let connection = Connection::open(path).map_err(sqlite)?;
        connection.busy_timeout(PATIENCE).map_err(sqlite)?;
        Ok(Self(connection))
    }

    /// Makes the table and `count` unpaid orders.
    ///
    /// # Errors
    /// What SQLite says; a table of that name that stands already is somebody else's.
    pub(super) fn create(&mut self, count: u32) -> Result<(), Failure> {
        let tx = self.begin()?;
        tx.execute_batch(include_str!("sql/orders.sql")).map_err(sqlite)?;
        for n in 1..=count {
            let mut insert =
                tx.prepare_cached(include_str!("sql/order_insert.sql")).map_err(sqlite)?;
            insert.execute([order_id(n)]).map_err(sqlite)?;
        }
        tx.commit().map_err(sqlite)
    }

    /// Pays the `n`-th order; `false` if it was paid before. `before_commit` runs when all is
    /// written and nothing is committed.
    ///
    /// # Errors
    /// What SQLite or the outbox says; nothing is written then.
    pub(super) fn pay(&mut self, n: u32, before_commit: impl FnOnce()) -> Result<bool, Failure> {
        let order = order_id(n);
        let body = serde_json::json!({ "note": "两件，易碎 📦", "order_id": order });
        let command = Command::json(command_id(&order), DESTINATION, KIND, &body)
            .map_err(Failure::could_not_run)?;
        let tx = self.begin()?;
        let pay = include_str!("sql/order_pay.sql");
        let paid = tx.prepare_cached(pay).and_then(|mut pay| pay.execute([&order]));
        if paid.map_err(sqlite)? == 0 {
            return Ok(false);
        }
        tx.enqueue(&command).map_err(Failure::could_not_run)?;
        before_commit();
        tx.commit().map_err(sqlite)?;
        Ok(true)
    }

    /// Whether the `n`-th order is paid, and how many commands stand for it.
    ///
    /// # Errors
    /// What SQLite says.
    pub(super) fn look(&self, n: u32) -> Result<(bool, u32), Failure> {
        let look = include_str!("sql/order_paid.sql");
        let read = self.0.query_row(look, [order_id(n)], |row| {
            Ok((row.get::<_, Option<bool>>(0)?.unwrap_or(false), row.get(1)?))
        });
        read.map_err(sqlite)
    }

    fn begin(&mut self) -> Result<rusqlite::Transaction<'_>, Failure> {
        self.0.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)
    }
}

/// What SQLite said in a drill.
#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
pub(super) fn sqlite(error: rusqlite::Error) -> Failure {
    Failure::could_not_run(format!("the drill's own connection: SQLite says: {error}"))
}
