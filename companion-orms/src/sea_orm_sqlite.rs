//! SeaORM on SQLite.

use sea_orm::{
    ConnectionTrait as _, DatabaseConnection, DbBackend, DbErr, SqliteTransactionMode, Statement,
    TransactionOptions, TransactionTrait as _,
};

/// Marks an order as paid, and tells shipping: both, or neither.
pub async fn pay(db: &DatabaseConnection, order: &str) -> Result<(), DbErr> {
    let statement = |sql, values| Statement::from_sql_and_values(DbBackend::Sqlite, sql, values);
    // A deferred transaction that begins to write later is refused at once where another writes.
    let immediate = Some(SqliteTransactionMode::Immediate);
    let options = TransactionOptions { sqlite_transaction_mode: immediate, ..Default::default() };
    let transaction = db.begin_with_options(options).await?;
    let paid = "UPDATE orders SET paid = 1 WHERE id = ?";
    transaction.execute_raw(statement(paid, vec![order.into()])).await?;
    let insert = "INSERT INTO counterfoil_outbox(command_id, destination, kind, body) \
                  VALUES (?, 'shipping', 'order.paid', ?)";
    let (id, body) = (format!("order.paid:{order}"), format!(r#"{{"order_id":"{order}"}}"#));
    transaction.execute_raw(statement(insert, vec![id.into(), body.into()])).await?;
    transaction.commit().await
}
