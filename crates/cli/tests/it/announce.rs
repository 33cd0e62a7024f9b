//! `[announce]` and `rate`: what the configuration says reaches the relay.

use std::time::Duration;

use crate::program::{Desk, configuration, wait_until};
use crate::relay::answering;

#[test]
fn what_is_parked_becomes_a_command_of_its_own() {
    let desk = Desk::new();
    let refuses = "HTTP/1.1 400 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    desk.configure(answering(refuses), "false", "[announce]\nto = \"ops\"\n");
    desk.enqueue("a");
    let relay = desk.run(&["relay", "--until-idle"]);
    assert_eq!(relay.code, Some(1), "{relay:?}");
    assert!(relay.err.contains("no [destination.ops] here"), "{relay:?}");
    let alert = desk.show("counterfoil.parked:a:1");
    assert_eq!((&alert["destination"], &alert["state"]), (&"ops".into(), &"pending".into()));
    let body: serde_json::Value = serde_json::from_str(alert["body"].as_str().unwrap()).unwrap();
    assert_eq!((&body["command_id"], &body["state"]), (&"a".into(), &"dead".into()));
}

/// The destination of alerts is dead itself, in each way that parks.
#[test]
fn dead_alerts_make_no_alerts() {
    let refuses = "HTTP/1.1 400 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let fails = "HTTP/1.1 500 Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let knows = "HTTP/1.1 422 Other\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    for (answer, state) in [(refuses, "dead"), (fails, "uncertain"), (knows, "conflict")] {
        let desk = Desk::new();
        let ops = configuration(answering(answer), "false", "");
        let ops = ops.split_once("[destination.shipping]").unwrap().1;
        let more = format!("[destination.ops]{ops}\n[announce]\nto = \"ops\"\n");
        desk.configure(answering(refuses), "false", &more);
        ["a", "b", "c"].iter().for_each(|id| desk.enqueue(id));
        for round in 1..=2 {
            let relay = desk.run(&["relay", "--until-idle"]);
            assert_eq!(relay.code, Some(1), "{relay:?}");
            let alerts = "SELECT count(*) FROM counterfoil_outbox WHERE kind GLOB '*parked'";
            assert_eq!(desk.orders(alerts), 3 * round, "one a round of each");
            let parked = format!(
                "SELECT count(*) FROM counterfoil_delivery
                 WHERE destination = 'ops' AND state = '{state}'"
            );
            assert_eq!(desk.orders(&parked), 3 * round, "{state}: {relay:?}");
            let retry = ["retry", "--state", "dead", "--destination", "shipping", "--yes"];
            desk.run(&retry).is_done();
        }
    }
}

#[test]
fn a_rate_holds_back_what_comes_after_the_first() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "rate = \"1/h\"");
    (0..5).for_each(|n| desk.enqueue(&format!("c-{n}")));
    let mut relay = desk.start(&["relay"]);
    let jobs = || desk.shipping("SELECT count(*) FROM jobs");
    wait_until("the first is done", || jobs() > 0);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(jobs(), 1);
    relay.signal("TERM");
    assert_eq!(relay.end(), Some(0));
}
