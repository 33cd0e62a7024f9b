//! P1: a command in the user's own transaction, beside the user's own row.
//!
//! Guarantees: both ways write the order first, in as many round trips, but for one more at most.
//! Does not: batch.

use std::time::{Duration, Instant};

use anyhow::Result;
use counterfoil_postgres::{Options, Outbox as _, OutboxSql, PostgresStore};
use tokio_postgres::Client;

use super::limit;
use super::server::Server;
use crate::figure::{Figure, median};
use crate::load::{Ids, Scale, body, command};

const ORDER: &str = "INSERT INTO orders(id, paid, body) VALUES ($1, 1, $2)";
const BARE: &str = "INSERT INTO bare(command_id, destination, kind, body) \
                    VALUES ($1, 'shipping', 'order.paid', $2)";

/// P1 with so many clients.
pub(crate) async fn own_transaction(
    scale: &Scale,
    server: &Server,
    clients: usize,
) -> Result<Figure> {
    let (mut ours, mut raw) = (vec![], vec![]);
    for _ in 0..scale.rounds {
        for (rates, with_rules) in [(&mut raw, false), (&mut ours, true)] {
            server.create("p1").await?;
            PostgresStore::init(&server.url("p1"), Options::default(), None).await?;
            limit::create(&server.connect("p1").await?).await?;
            rates.push(rate(scale, server, clients, with_rules).await?);
        }
    }
    let (ours, limit) = (median(&ours), median(&raw));
    let goal = if clients == 1 { 0.9 } else { 0.85 };
    Ok(Figure {
        name: "P1".into(),
        what: format!("own transaction with one order and one command, {clients} clients"),
        ours,
        limit,
        unit: "/s",
        ratio: ours / limit,
        goal: format!("≥ {goal}"),
        met: ours / limit >= goal,
        more: vec![],
    })
}

async fn rate(scale: &Scale, server: &Server, clients: usize, with_rules: bool) -> Result<f64> {
    let until = Instant::now() + Duration::from_secs_f64(scale.seconds.max(2.0));
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for place in 0..clients as u64 {
        let client = server.connect("p1").await?;
        tasks.push(tokio::spawn(pay(client, place * 1_000_000, until, with_rules)));
    }
    let mut paid = 0;
    for task in tasks {
        paid += task.await??;
    }
    Ok(paid as f64 / begun.elapsed().as_secs_f64())
}

async fn pay(mut client: Client, from: u64, until: Instant, with_rules: bool) -> Result<u64> {
    let order = client.prepare(ORDER).await?;
    let bare = client.prepare(BARE).await?;
    let outbox = OutboxSql::default().prepare(&client).await?;
    let mut paid = 0;
    while Instant::now() < until {
        let id = Ids::Orders.id(from + paid);
        let tx = client.transaction().await?;
        tx.execute(&order, &[&id, &body()]).await?;
        if with_rules {
            outbox.on(&tx).enqueue(&command(Ids::Orders, from + paid)?).await?;
        } else {
            tx.execute(&bare, &[&id, &body()]).await?;
        }
        tx.commit().await?;
        paid += 1;
    }
    Ok(paid)
}
