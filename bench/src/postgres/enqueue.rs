//! P1: a command in the user's own transaction, beside the user's own row.
//!
//! Guarantees: both ways write the order first, in as many round trips; the CPU time of the server
//! stands beside, since it says more than rates where the machine is busy. Does not: batch.

use std::time::{Duration, Instant};

use anyhow::Result;
use counterfoil_postgres::{Options, Outbox as _, OutboxSql, PostgresStore, PreparedOutbox};
use tokio_postgres::{Client, Statement};

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
    (clients, ids): (usize, Ids),
) -> Result<Figure> {
    let (mut ours, mut raw, mut cpu, mut raw_cpu) = (vec![], vec![], vec![], vec![]);
    for _ in 0..scale.rounds {
        for (rates, times, with_rules) in
            [(&mut raw, &mut raw_cpu, false), (&mut ours, &mut cpu, true)]
        {
            server.create("p1").await?;
            PostgresStore::init(&server.url("p1"), Options::default(), None).await?;
            limit::create(&server.connect("p1").await?).await?;
            let measured = rate(scale, server, (clients, ids), with_rules).await?;
            rates.push(measured.rate);
            times.push(measured.cpu);
        }
    }
    let (ours, limit) = (median(&ours), median(&raw));
    let goal = if clients == 1 { 0.9 } else { 0.85 };
    Ok(Figure {
        name: "P1".into(),
        what: format!(
            "own transaction with one order and one command, {clients} clients, {}",
            ids.name()
        ),
        ours,
        limit,
        unit: "/s",
        ratio: ours / limit,
        goal: format!("≥ {goal}"),
        met: ours / limit >= goal,
        more: vec![
            ("server's µs of CPU a transaction".into(), median(&cpu)),
            ("of the limit".into(), median(&raw_cpu)),
        ],
    })
}

/// Transactions a second, and what one costs the server.
struct Measured {
    rate: f64,
    /// Microseconds of CPU of the backends; 0 where the system does not tell.
    cpu: f64,
}

async fn rate(
    scale: &Scale,
    server: &Server,
    (clients, ids): (usize, Ids),
    with_rules: bool,
) -> Result<Measured> {
    let mut ready = Vec::new();
    for _ in 0..clients {
        ready.push(Payer::new(server.connect("p1").await?, ids).await?);
    }
    let until = Instant::now() + Duration::from_secs_f64(scale.seconds.max(2.0));
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for (place, payer) in (0..).zip(ready) {
        tasks.push(tokio::spawn(payer.pay(place * 1_000_000, until, with_rules)));
    }
    let (mut paid, mut cpu) = (0, 0.0);
    for task in tasks {
        let (of_one, micros) = task.await??;
        paid += of_one;
        cpu += micros;
    }
    let rate = paid as f64 / begun.elapsed().as_secs_f64();
    Ok(Measured { rate, cpu: cpu / paid as f64 })
}

/// A client with its statements prepared.
pub(super) struct Payer {
    client: Client,
    ids: Ids,
    order: Statement,
    bare: Statement,
    outbox: PreparedOutbox,
    backend: i32,
}

impl Payer {
    pub(super) async fn new(client: Client, ids: Ids) -> Result<Self> {
        let order = client.prepare(ORDER).await?;
        let bare = client.prepare(BARE).await?;
        let outbox = OutboxSql::default().prepare(&client).await?;
        let backend = client.query_one("SELECT pg_backend_pid()", &[]).await?.get(0);
        Ok(Self { client, ids, order, bare, outbox, backend })
    }

    /// Pays order number `i`.
    pub(super) async fn pay_one(&mut self, i: u64, with_rules: bool) -> Result<()> {
        let id = self.ids.id(i);
        let tx = self.client.transaction().await?;
        tx.execute(&self.order, &[&id, &body()]).await?;
        if with_rules {
            self.outbox.on(&tx).enqueue(&command(self.ids, i)?).await?;
        } else {
            tx.execute(&self.bare, &[&id, &body()]).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Pays until then: how many, and the microseconds of CPU that the backend took.
    async fn pay(mut self, from: u64, until: Instant, with_rules: bool) -> Result<(u64, f64)> {
        let before = cpu_of(self.backend);
        let mut paid = 0;
        while Instant::now() < until {
            self.pay_one(from + paid, with_rules).await?;
            paid += 1;
        }
        Ok((paid, cpu_of(self.backend) - before))
    }
}

/// The microseconds of CPU that a process has taken, where Linux tells.
fn cpu_of(process: i32) -> f64 {
    let told = std::fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap_or_default();
    let nanos: f64 = told.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default();
    nanos / 1000.0
}
