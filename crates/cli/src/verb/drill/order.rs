//! The shop of a drill: orders, and paying one together with its command in one transaction.
//!
//! Guarantees: an order is paid at most once, and its command stands beside it or neither does.
//! Does not: use any connection but the shop's own, as a user's program would: on SQLite by the
//! library, on PostgreSQL by plain SQL.

use counterfoil_core::domain::Command;
use counterfoil_sqlite::Outbox;
use rusqlite::{Connection, TransactionBehavior};

use super::database::{Database, query, sqlite};
use super::server::Server;
use crate::config::store_url::StoreUrl;
use crate::exit::Failure;

/// The destination of a drill.
pub(super) const DESTINATION: &str = "shipping";
/// The kind of its commands.
pub(super) const KIND: &str = "order.paid";

/// The orders of a shop.
pub(super) struct Orders(Database);

/// The id of the `n`-th order.
pub(super) fn order_id(n: u32) -> String {
    format!("A-{n:06}")
}

/// The id of the command that ships an order.
pub(super) fn command_id(order: &str) -> String {
    format!("{KIND}:{order}")
}

/// What is sent for an order.
fn body(order: &str) -> serde_json::Value {
    serde_json::json!({ "note": "两件，易碎 📦", "order_id": order })
}

impl Orders {
    /// Opens the shop's own connection.
    ///
    /// # Errors
    /// What the database says.
    pub(super) fn open(url: &StoreUrl) -> Result<Self, Failure> {
        Database::open(url).map(Self)
    }

    /// Makes the table and `count` unpaid orders.
    ///
    /// # Errors
    /// What the database says; a table of that name that stands already is somebody else's.
    pub(super) fn create(&mut self, count: u32) -> Result<(), Failure> {
        let ids: Vec<String> = (1..=count).map(order_id).collect();
        let (table, insert) = (query!("orders"), query!("order_insert"));
        match &mut self.0 {
            Database::Sqlite(connection) => {
                let tx = begin(connection)?;
                tx.execute_batch(table.sqlite).map_err(sqlite)?;
                for id in &ids {
                    let insert = tx.prepare_cached(insert.sqlite);
                    insert.and_then(|mut insert| insert.execute([id])).map_err(sqlite)?;
                }
                tx.commit().map_err(sqlite)
            }
            Database::Postgres(server) => server.patiently(async |client| {
                let tx = client.transaction().await?;
                tx.batch_execute(table.postgres).await?;
                tx.execute(insert.postgres, &[&ids]).await?;
                tx.commit().await
            }),
        }
    }

    /// Pays the `n`-th order; `false` if it was paid before. `before_commit` runs when all is
    /// written and nothing is committed; again, where a server's restart cut the payment off.
    ///
    /// # Errors
    /// What the database or the outbox says; nothing is written then.
    pub(super) fn pay(&mut self, n: u32, before_commit: impl FnMut()) -> Result<bool, Failure> {
        match &mut self.0 {
            Database::Sqlite(connection) => pay_by_library(connection, n, before_commit),
            Database::Postgres(server) => pay_by_sql(server, n, before_commit),
        }
    }

    /// Whether the `n`-th order is paid, and how many commands stand for it.
    ///
    /// # Errors
    /// What the database says.
    pub(super) fn look(&mut self, n: u32) -> Result<(bool, i64), Failure> {
        let row = self.0.row(query!("order_paid"), &[&order_id(n)])?;
        Ok((row.int(0) != 0, row.int(1)))
    }
}

fn pay_by_library(
    connection: &mut Connection,
    n: u32,
    mut before_commit: impl FnMut(),
) -> Result<bool, Failure> {
    let order = order_id(n);
    let command = Command::json(command_id(&order), DESTINATION, KIND, &body(&order))
        .map_err(Failure::could_not_run)?;
    let tx = begin(connection)?;
    let pay = query!("order_pay").sqlite;
    let paid = tx.prepare_cached(pay).and_then(|mut pay| pay.execute([&order]));
    if paid.map_err(sqlite)? == 0 {
        return Ok(false);
    }
    tx.enqueue(&command).map_err(Failure::could_not_run)?;
    before_commit();
    tx.commit().map_err(sqlite)?;
    Ok(true)
}

/// As a program in any language would.
fn pay_by_sql(
    server: &mut Server,
    n: u32,
    mut before_commit: impl FnMut(),
) -> Result<bool, Failure> {
    let order = order_id(n);
    let (id, body) = (command_id(&order), body(&order).to_string());
    let (pay, enqueue) = (query!("order_pay").postgres, include_str!("sql/postgres/enqueue.sql"));
    let enqueue = server.sql(enqueue);
    server.patiently(async |client| {
        let tx = client.transaction().await?;
        if tx.execute(pay, &[&order]).await? == 0 {
            return Ok(false);
        }
        tx.execute(&enqueue, &[&id, &DESTINATION, &KIND, &body]).await?;
        before_commit();
        tx.commit().await?;
        Ok(true)
    })
}

fn begin(connection: &mut Connection) -> Result<rusqlite::Transaction<'_>, Failure> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)
}
