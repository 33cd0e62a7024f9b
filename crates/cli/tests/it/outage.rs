//! One of three destinations does not work, and then works again: real relay, real HTTP.
//!
//! Guarantees: what the others did is counted, not timed. Does not: last two minutes; the relay's
//! own tests do, in virtual time.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::answers::answers;
use crate::program::{Desk, configuration, wait_until};

/// Commands for the destination that fails, and for each of the others in each act.
const MAIL: usize = 40;
const EACH: usize = 15;
/// What the destination does, one after the other.
const SLOW: usize = 1;
const NOT_FOUND: usize = 2;
const WORKS: usize = 3;

fn destination(name: &str, port: u16) -> String {
    format!(
        "[destination.{name}]\ntransport = \"http\"\nurl = \"http://127.0.0.1:{port}/\"\n\
         request_timeout = \"1s\"\nidempotent = \"forever\"\n\
         retry = {{ initial = \"20ms\", max = \"200ms\" }}\n"
    )
}

fn enqueue(desk: &Desk, to: &str, ids: impl Iterator<Item = String>) {
    let line = |id| format!("{{\"id\":\"{id}\",\"to\":\"{to}\",\"kind\":\"k\",\"body\":{{}}}}\n");
    desk.write("f.jsonl", &ids.map(line).collect::<String>());
    desk.run(&["enqueue", "--from", "f.jsonl"]).is_done();
}

/// Commands at a destination that completed, and how many attempts they took.
fn completed(desk: &Desk, to: &str) -> (i64, i64) {
    let of = |what| {
        desk.orders(&format!(
            "SELECT {what} FROM counterfoil_receipt
             WHERE outcome = 'completed' AND destination = '{to}'"
        ))
    };
    (of("count(*)"), of("coalesce(sum(attempts), 0)"))
}

#[test]
fn one_of_three_down_then_slow_then_misrouted_delays_no_other_and_recovers_alone() {
    let desk = Desk::new();
    let works = answers(0, |_| ("200 OK", String::new()));
    // Nothing listens there yet, and nobody else takes it.
    let reserved = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = reserved.local_addr().unwrap().port();
    drop(reserved);
    let config = configuration(works, "\"forever\"", "") + &destination("billing", works);
    desk.write("counterfoil.toml", &(config + &destination("mail", closed)));
    enqueue(&desk, "mail", (0..MAIL).map(|n| format!("mail-{n}")));
    let mut relay = desk.start(&["relay"]);
    let tried = "SELECT count(*) FROM counterfoil_attempt";
    let acts = Arc::new(AtomicUsize::new(0));
    for act in 0..WORKS {
        acts.store(act, Ordering::SeqCst);
        if act == SLOW {
            let acts = Arc::clone(&acts);
            answers(closed, move |_| match acts.load(Ordering::SeqCst) {
                SLOW => {
                    std::thread::sleep(Duration::from_secs(3));
                    ("200 OK", String::new())
                }
                NOT_FOUND => ("404 Not Found", String::new()),
                _ => ("200 OK", String::new()),
            });
        }
        let before = desk.orders(tried);
        wait_until("it is tried in vain", || desk.orders(tried) > before);
        for to in ["shipping", "billing"] {
            enqueue(&desk, to, (0..EACH).map(|n| format!("{to}-{act}-{n}")));
        }
        let all = i64::try_from((act + 1) * EACH).unwrap();
        let others = || ["shipping", "billing"].map(|to| completed(&desk, to));
        wait_until("the others are served", || others() == [(all, all); 2]);
        assert_eq!(completed(&desk, "mail"), (0, 0), "in act {act}");
    }
    acts.store(WORKS, Ordering::SeqCst);
    let mail = i64::try_from(MAIL).unwrap();
    wait_until("it recovers", || completed(&desk, "mail").0 == mail);
    let burnt = completed(&desk, "mail").1 - mail;
    // Four workers: at most three were under way beside the fifth failure, which opens it.
    assert!(burnt <= 8, "{burnt} attempts burnt of {MAIL} commands");
    relay.signal("TERM");
    assert_eq!(relay.end(), Some(0));
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_operator_action"), 0, "alone");
    desk.run(&["audit"]).is_done();
}
