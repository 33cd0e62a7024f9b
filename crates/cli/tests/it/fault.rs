//! Processes that die or freeze at the worst moment, with real files and real connections.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::program::{Desk, wait_until};

/// Commands of `orders.db` in a state.
fn in_state(desk: &Desk, state: &str) -> i64 {
    desk.orders(&format!("SELECT count(*) FROM counterfoil_delivery WHERE state = '{state}'"))
}

fn jobs(desk: &Desk) -> i64 {
    desk.shipping("SELECT count(*) FROM jobs")
}

fn calls(desk: &Desk) -> i64 {
    desk.shipping("SELECT count(*) FROM calls")
}

/// A port whose connections are never made: its queue is full and nobody accepts.
struct Wall {
    listener: TcpListener,
    _queued: Vec<TcpStream>,
}

impl Wall {
    fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let mut queued = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
            queued.push(stream);
            assert!(queued.len() < 10_000, "the queue never fills");
        }
        Self { listener, _queued: queued }
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }
}

#[test]
fn a_relay_killed_between_claim_and_first_byte_leaves_at_most_its_workers_in_doubt() {
    let desk = Desk::new();
    let wall = Wall::new();
    desk.configure(wall.address().port(), "{ key_ttl = \"24h\" }", "");
    (0..12).for_each(|n| desk.enqueue(&format!("c-{n}")));
    let relay = desk.start(&["relay"]);
    wait_until("it has claimed", || in_state(&desk, "sending") == 4);
    relay.kill();
    assert_eq!(in_state(&desk, "sending"), 4, "workers = 4, and no more");
    drop(wall);
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "{ key_ttl = \"24h\" }", "");
    desk.run(&["relay", "--until-idle"]).is_done();
    let doubted = "SELECT count(DISTINCT n) FROM counterfoil_attempt";
    assert!(desk.orders(doubted) <= 4, "none beyond the workers");
    assert_eq!(jobs(&desk), 12);
    assert_eq!(calls(&desk), 12, "nothing had been sent before the kill");
}

#[test]
fn a_relay_ended_between_claim_and_first_byte_hands_everything_back() {
    let desk = Desk::new();
    let wall = Wall::new();
    desk.configure(wall.address().port(), "false", "");
    (0..12).for_each(|n| desk.enqueue(&format!("c-{n}")));
    let mut relay = desk.start(&["relay"]);
    wait_until("it has claimed", || in_state(&desk, "sending") == 4);
    relay.signal("TERM");
    assert_eq!(relay.end(), Some(0));
    assert_eq!(in_state(&desk, "pending"), 12);
    assert_eq!(desk.orders("SELECT sum(in_doubt) FROM counterfoil_delivery"), 0);
    assert_eq!(desk.orders("SELECT count(first_sent_at) FROM counterfoil_delivery"), 0);
}

#[test]
fn a_relay_killed_after_the_receivers_commit_is_followed_by_a_repeat() {
    let desk = Desk::new();
    let (receiver, port) = desk.receiver(&["--hold-after-commit", "1"]);
    desk.configure(port, "{ key_ttl = \"24h\" }", "");
    desk.enqueue("订单-1");
    let relay = desk.start(&["relay"]);
    receiver.hear("held 订单-1");
    relay.kill();
    let shown = desk.show("订单-1");
    assert_eq!((shown["state"].as_str(), jobs(&desk)), (Some("sending"), 1));
    desk.run(&["relay", "--until-idle"]).is_done();
    let shown = desk.show("订单-1");
    assert_eq!(shown["state"], "completed");
    assert_eq!(shown["attempts"], 2);
    assert_eq!((jobs(&desk), calls(&desk)), (1, 2));
}

#[test]
fn a_receiver_that_dies_before_its_commit_has_done_nothing() {
    let desk = Desk::new();
    let (mut receiver, port) = desk.receiver(&["--die-before-commit", "1"]);
    desk.configure(port, "{ key_ttl = \"24h\" }", "");
    desk.enqueue("a");
    let mut relay = desk.start(&["relay", "--until-idle"]);
    receiver.end();
    assert_eq!((jobs(&desk), calls(&desk)), (0, 0));
    let (_receiver, _) = desk.receiver_at(port, &[]);
    assert_eq!(relay.end(), Some(0));
    assert_eq!((jobs(&desk), calls(&desk)), (1, 1));
}

#[test]
fn a_receiver_that_dies_after_its_commit_does_not_do_it_again() {
    let desk = Desk::new();
    let (mut receiver, port) = desk.receiver(&["--die-after-commit", "1"]);
    desk.configure(port, "{ key_ttl = \"24h\" }", "");
    desk.enqueue("a");
    let mut relay = desk.start(&["relay", "--until-idle"]);
    receiver.end();
    assert_eq!(jobs(&desk), 1);
    let (_receiver, _) = desk.receiver_at(port, &[]);
    assert_eq!(relay.end(), Some(0));
    assert_eq!((jobs(&desk), calls(&desk)), (1, 2));
    assert_eq!(desk.show("a")["tries"][0]["outcome"], "unknown");
}

/// One relay is frozen beyond its lease, another takes over, the first wakes: its settle changes
/// nothing, whether the answer reached it in time or not.
#[test]
fn a_relay_that_wakes_after_its_lease_changes_nothing() {
    for hold in ["500ms", "1h"] {
        let desk = Desk::new();
        let (receiver, port) = desk.receiver(&["--hold-after-commit", "1", "--hold-for", hold]);
        desk.configure(port, "{ key_ttl = \"24h\" }", "");
        desk.enqueue("a");
        let mut frozen = desk.start(&["relay"]);
        receiver.hear("held a");
        frozen.signal("STOP");
        desk.run(&["relay", "--until-idle"]).is_done();
        let before = desk.show("a");
        assert_eq!(before["state"], "completed");
        assert_eq!(before["attempts"], 2);
        frozen.signal("CONT");
        frozen.signal("TERM");
        assert_eq!(frozen.end(), Some(0));
        let after = desk.show("a");
        assert_eq!(after["receipts"], before["receipts"]);
        assert_eq!(after["state"], "completed");
        assert_eq!(jobs(&desk), 1);
        assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_contradiction"), 0);
        let late = "SELECT count(*) FROM counterfoil_attempt WHERE purpose = 'late'";
        assert_eq!(desk.orders(late), 1, "it is recorded all the same");
    }
}

/// The same where the receiver knows no keys: the command is uncertain by then, and what the
/// first relay heard is the receiver's own word, which ends it.
#[test]
fn a_late_completed_ends_a_command_that_is_uncertain() {
    let desk = Desk::new();
    let (receiver, port) = desk.receiver(&["--hold-after-commit", "1", "--hold-for", "500ms"]);
    desk.configure(port, "false", "");
    desk.enqueue("a");
    let frozen = desk.start(&["relay"]);
    receiver.hear("held a");
    frozen.signal("STOP");
    let said = desk.run(&["relay", "--until-idle"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(desk.show("a")["state"], "uncertain");
    frozen.signal("CONT");
    wait_until("its answer counts", || desk.show("a")["state"] == "completed");
    let shown = desk.show("a");
    assert_eq!(shown["receipt"]["source"], "late attempt", "{shown}");
    assert_eq!((jobs(&desk), calls(&desk)), (1, 1));
}

#[test]
fn a_keyless_receiver_that_hangs_after_its_commit_is_called_once_for_ever() {
    let desk = Desk::new();
    let (receiver, port) = desk.receiver(&["--hold-after-commit", "1"]);
    desk.configure(port, "false", "");
    desk.enqueue("a");
    let relay = desk.start(&["relay"]);
    receiver.hear("held a");
    relay.kill();
    for _ in 0..2 {
        let relay = desk.start(&["relay"]);
        wait_until("it waits for a person", || in_state(&desk, "uncertain") == 1);
        relay.kill();
    }
    let said = desk.run(&["relay", "--until-idle"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let shown = desk.show("a");
    assert_eq!(shown["in_doubt"], true);
    assert_eq!((jobs(&desk), calls(&desk)), (1, 1));
    let told = desk.run(&["show", "a"]);
    assert!(told.is_done().out.contains("next: a person; it may have been done"), "{told:?}");
}
