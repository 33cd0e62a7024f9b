//! A warehouse over HTTP: takes each order from its stock once, however often its command comes.
//!
//! Guarantees: key, stock and answer commit together. Does not: speak TLS.
#![allow(clippy::result_large_err, reason = "axum's own error carries a whole response")]
use std::{error::Error, sync::Arc, sync::Mutex, sync::PoisonError};

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::{Router, body::Bytes, response::Response, response::Result, routing::post};
use counterfoil_inbox::http::{Caller, IdempotencyKey, Problem, Reply};
use counterfoil_inbox::{RETENTION, Source, begin, core_digest, receiver::Callers};
use counterfoil_sqlite::InboxTx;
use rusqlite::Connection;

type Db = Arc<Mutex<Connection>>;
/// One transaction. A field that is no core field, such as a time, may differ in a repeat.
fn ship(db: &Db, source: &str, key: &str, body: &[u8]) -> Result<Reply> {
    let digest = core_digest(body, &["/order", "/sku"])?;
    let mut db = db.lock().unwrap_or_else(PoisonError::into_inner);
    // Deferred is enough: the guard writes first, and says `Busy` (409) where a twin is at work.
    let tx = db.transaction().map_err(Problem::unavailable)?;
    let begun = begin(InboxTx::new(tx), source, key, digest, RETENTION)?;
    let mut first = begun.first_or_reply()?;
    let take = "UPDATE stock SET n = n - 1 WHERE n > 0 AND sku = CAST(?1 AS TEXT) ->> 'sku'";
    let (rows, reply) = match first.rows().execute(take, [body]).map_err(Problem::unavailable)? {
        0 => (first.finish_rejected(b"sold out")?, Reply::Rejected(b"sold out".into())),
        _ => (first.finish(b"\"shipped\"")?, Reply::Completed(b"\"shipped\"".into())),
    };
    rows.into_inner().commit().map_err(Problem::unavailable)?;
    Ok(reply)
}

async fn take(db: State<Db>, who: Caller, key: IdempotencyKey, body: Bytes) -> Result<Reply> {
    let work = move || ship(&db, who.0.as_str(), key.0.as_str(), &body);
    tokio::task::spawn_blocking(work).await.map_err(Problem::unavailable)?
}

/// Your own authentication: whoever it lets in is named to the handler by `Caller`.
async fn let_in(known: State<Callers>, mut r: Request, next: Next) -> Result<Response> {
    let source = known.source(r.headers())?;
    r.extensions_mut().insert(Caller(source));
    Ok(next.run(r).await)
}

pub(crate) fn app(db: Connection, known: Callers) -> Router {
    let routes = Router::new().route("/commands", post(take)).with_state(Arc::new(Mutex::new(db)));
    routes.layer(from_fn_with_state(known, let_in))
}

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn Error>> {
    let mut db = Connection::open(std::env::args().nth(1).ok_or("name a file")?)?;
    counterfoil_sqlite::migrate(&mut db, None)?;
    db.execute_batch("CREATE TABLE IF NOT EXISTS stock(sku PRIMARY KEY, n INTEGER)")?;
    let shop = (std::env::var("SHOP_TOKEN")?, Source::new("urn:example:orders")?);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on {}", listener.local_addr()?);
    Ok(axum::serve(listener, app(db, Callers::by_token([shop]))).await?)
}
