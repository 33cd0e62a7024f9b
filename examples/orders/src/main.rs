//! Pays three orders, each with its command in one transaction, and ships them.
//!
//! Guarantees: an order that is paid is shipped once; one that is rolled back never is. Does not:
//! need another process; the receiver is a function of this one.

use std::sync::{Arc, Mutex};

use counterfoil::relay::{Options, Relay, Served, handler};
use counterfoil::sqlite::{Outbox as _, SqliteStore};
use counterfoil::{Attempt, Command, Contract, Destination, Idempotent, Quiet, Terms};
use rusqlite::{Connection, TransactionBehavior};

type Failure = Box<dyn std::error::Error>;

fn pay(orders: &mut Connection, id: &str, fault: bool) -> Result<(), Failure> {
    let tx = orders.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute("INSERT INTO orders VALUES (?1, 1)", [id])?;
    let body = serde_json::json!({"order_id": id});
    let command_id = format!("order.paid:{id}");
    tx.enqueue(&Command::json(command_id, "shipping", "order.paid", &body)?)?;
    if fault {
        return Err("the process failed before the commit".into()); // rolls back, both rows
    }
    Ok(tx.commit()?)
}

#[tokio::main]
#[allow(clippy::print_stdout, reason = "an example shows what it does")]
async fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("orders.db");
    let store = SqliteStore::init(&path, None)?;
    let mut orders = Connection::open(&path)?;
    orders.execute_batch("CREATE TABLE orders(id TEXT PRIMARY KEY, paid INTEGER NOT NULL)")?;
    for (id, fault) in [("A-001", false), ("A-002", true), ("A-003", false)] {
        match pay(&mut orders, id, fault) {
            Ok(()) => println!("{id}: paid"),
            Err(error) => println!("{id}: {error}"),
        }
    }

    let shipped = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&shipped);
    let ship = move |attempt: Attempt| {
        let id = attempt.command.command_id.to_string();
        if let Ok(mut shipped) = heard.lock() {
            shipped.push(id);
        }
        async { Ok::<_, std::io::Error>(Vec::new()) }
    };
    let terms = Terms::new(Contract::new(Idempotent::Forever));
    let shipping = Served::new(Destination::new("shipping")?, terms, Arc::new(handler(ship)));
    let options = Options::default().until_idle(true);
    Relay::new(store, vec![shipping], options, Quiet).run(std::future::pending()).await?;
    let mut shipped = shipped.lock().map(|shipped| shipped.clone()).unwrap_or_default();
    shipped.sort();
    println!("shipped: {}", shipped.join(", "));
    Ok(())
}
