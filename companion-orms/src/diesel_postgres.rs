//! diesel on PostgreSQL, by diesel-async.

use diesel::sql_types::Text;
use diesel::{QueryResult, sql_query};
use diesel_async::{AsyncConnection as _, AsyncPgConnection, RunQueryDsl as _};

/// Marks an order as paid, and tells shipping: both, or neither.
pub async fn pay(db: &mut AsyncPgConnection, order: &str) -> QueryResult<()> {
    let (id, body) = (format!("order.paid:{order}"), format!(r#"{{"order_id":"{order}"}}"#));
    db.transaction(async |db| {
        let paid = sql_query("UPDATE orders SET paid = true WHERE id = $1");
        paid.bind::<Text, _>(order).execute(db).await?;
        let enqueue = "SELECT counterfoil.enqueue($1, 'shipping', 'order.paid', $2::text)";
        sql_query(enqueue).bind::<Text, _>(id).bind::<Text, _>(body).execute(db).await?;
        Ok(())
    })
    .await
}
