//! SeaORM on PostgreSQL.

use sea_orm::{
    ConnectionTrait as _, DatabaseConnection, DbBackend, DbErr, Statement, TransactionTrait as _,
};

/// Marks an order as paid, and tells shipping: both, or neither.
pub async fn pay(db: &DatabaseConnection, order: &str) -> Result<(), DbErr> {
    let statement = |sql, values| Statement::from_sql_and_values(DbBackend::Postgres, sql, values);
    let transaction = db.begin().await?;
    let paid = "UPDATE orders SET paid = true WHERE id = $1";
    transaction.execute_raw(statement(paid, vec![order.into()])).await?;
    let enqueue = "SELECT counterfoil.enqueue($1, 'shipping', 'order.paid', $2::text)";
    let (id, body) = (format!("order.paid:{order}"), format!(r#"{{"order_id":"{order}"}}"#));
    transaction.execute_raw(statement(enqueue, vec![id.into(), body.into()])).await?;
    transaction.commit().await
}
