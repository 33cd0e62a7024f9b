//! Counterfoil: one relay with a handler that does nothing.
//!
//! Guarantees: a receipt with digests for each command. Does not: batch what is enqueued.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::Result;
use counterfoil_core::domain::{Command, Contract, Destination, Idempotent, Terms};
use counterfoil_core::port::{Quiet, Store as _};
use counterfoil_postgres::{Options, PostgresStore};
use counterfoil_relay::transport::handler::handler;
use counterfoil_relay::{Options as RelayOptions, Relay, Served};

use crate::load::{Load, Rates, Way, drained, enqueue, note};
use crate::server::Server;

const DONE: &str = "SELECT count(*) FROM counterfoil.receipt WHERE outcome = 'completed'";

/// Enqueue and drain.
pub(crate) async fn measure(server: &Server, way: Way, load: Load) -> Result<Rates> {
    let store = PostgresStore::init(&server.url("rivals"), Options::default(), None).await?;
    let client = server.connect("rivals").await?;
    let handed = store.clone();
    let enqueue = enqueue(load, move |i| {
        let store = handed.clone();
        async move {
            let id = format!("order.paid:A-{i:06}");
            let body = format!(r#"{{"order_id":"A-{i:06}","note":"{}"}}"#, note());
            let command = Command::bytes(id, "shipping", "order.paid", body.into_bytes())?;
            for answer in store.enqueue(vec![command]).await? {
                answer?;
            }
            Ok(())
        }
    })
    .await?;
    let handled = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&handled);
    let no_op = handler(move |_attempt| {
        counted.fetch_add(1, Ordering::Release);
        async { Ok::<_, Infallible>(Vec::new()) }
    });
    let terms = Terms::new(Contract::new(Idempotent::Forever));
    let served = Served::new(Destination::new("shipping")?, terms, Arc::new(no_op));
    let options = RelayOptions::default().until_idle(true);
    let options = if way == Way::Best { options.workers(1_024) } else { options };
    let begun = Instant::now();
    let relay = Relay::new(store, vec![served], options, Quiet);
    let running = tokio::spawn(relay.run(std::future::pending()));
    let drain = drained(load, begun, &handled, &client, DONE).await?;
    running.await??;
    Ok(Rates { enqueue, drain })
}
