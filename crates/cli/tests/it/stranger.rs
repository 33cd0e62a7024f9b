//! Programs in another language on both sides: shops that only INSERT, a warehouse that fails.
//!
//! Four shops write beside relays that drain the same file and are killed; no shop may see an
//! error, and at the end every paid order has one shipment and nothing else was shipped.

use std::process::{Command, Stdio};

use crate::program::{Desk, Running, number, wait_until};

const SHOPS: i64 = 4;
const ORDERS_EACH: i64 = 60;

fn python(desk: &Desk, client: &str, args: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.arg(format!("{}/tests/clients/{client}", env!("CARGO_MANIFEST_DIR")));
    command.args(args).current_dir(desk.path(".")).stdin(Stdio::null());
    command
}

#[test]
fn four_shops_beside_killed_relays_and_a_failing_warehouse() {
    let seed = std::env::var("SEED").unwrap_or_else(|_| "1".into());
    eprintln!("seed {seed}: set SEED to repeat it");
    let desk = Desk::new();
    let warehouse = Running::start(python(&desk, "warehouse.py", &["warehouse.db", &seed]));
    let line = warehouse.hear("listening on ");
    let port = line.rsplit(' ').next().unwrap().parse().unwrap();
    desk.configure(port, "{ key_ttl = \"24h\" }", "");
    let shops: Vec<_> = (0..SHOPS)
        .map(|shop| {
            let first = (shop * 10_000 + 1).to_string();
            let args = ["orders.db", &first, &ORDERS_EACH.to_string()];
            let mut command = python(&desk, "shop.py", &args);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let receipts = || desk.orders("SELECT count(*) FROM counterfoil_receipt");
    for kill in 1..=3 {
        let relay = desk.start(&["relay"]);
        wait_until("it delivers", || receipts() >= kill * SHOPS * ORDERS_EACH / 6);
        relay.kill();
    }
    for shop in shops {
        let output = shop.wait_with_output().unwrap();
        assert!(output.status.success(), "a shop saw an error: {output:?}");
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["paid"], ORDERS_EACH);
        let longest = said["longest_ms"].as_i64().unwrap();
        eprintln!("longest wait of a shop: {longest} ms");
        assert!(longest < 10_000, "a shop was starved: it waited {longest} ms");
    }
    desk.run(&["relay", "--until-idle"]).is_done();
    let paid = SHOPS * ORDERS_EACH;
    assert_eq!(desk.orders("SELECT count(*) FROM orders WHERE paid = 1"), paid);
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_outbox"), paid);
    let completed = "SELECT count(DISTINCT n) FROM counterfoil_receipt WHERE outcome = 'completed'";
    assert_eq!(desk.orders(completed), paid);
    assert_eq!(receipts(), paid);
    let warehouse_db = desk.path("warehouse.db");
    assert_eq!(number(&warehouse_db, "SELECT count(*) FROM shipped"), paid);
    assert!(number(&warehouse_db, "SELECT count(*) FROM requests") > paid, "no repeat was seen");
}
