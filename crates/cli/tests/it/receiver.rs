//! `receiver`: its announcements, its end, and what it refuses.

use std::net::TcpListener;

use crate::program::Desk;

#[test]
fn a_port_in_use_exits_2_with_the_way_out() {
    let desk = Desk::empty();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let said = desk.run(&["receiver", "--store", "sqlite:r.db", "--listen", &listen]);
    said.refuses(2, &[&listen, "another program has this port", "--listen"]);
    let said = desk.run(&["receiver", "--store", "sqlite:r.db", "--listen", "nowhere"]);
    said.refuses(2, &["nowhere", "127.0.0.1:8080"]);
    let said = desk.run(&["receiver", "--store", "sqlite:r.db", "--retention", "long"]);
    said.refuses(2, &["--retention \"long\"", "number and a unit"]);
}

/// Beside the tour's configuration `receiver` alone took the sender's file for its own book.
#[test]
fn it_does_not_take_the_senders_store_for_its_own() {
    let desk = Desk::new();
    desk.configure(1, "\"forever\"", "");
    let said = desk.run(&["receiver", "--listen", "127.0.0.1:0"]);
    said.refuses(2, &["a sender's", "--store sqlite:warehouse.db"]);
}

#[test]
fn a_memory_that_forgets_at_once_is_refused() {
    let desk = Desk::empty();
    let listen = ["--listen", "127.0.0.1:0", "--retention", "0s"];
    let said = desk.run(&[&["receiver", "--store", "sqlite:r.db"], &listen[..]].concat());
    said.refuses(2, &["--retention is zero", "--retention 7d"]);
}

#[test]
fn a_signal_ends_it_cleanly_and_so_does_the_end_of_its_input() {
    for name in ["TERM", "INT"] {
        let desk = Desk::empty();
        let (mut receiver, _) = desk.receiver(&[]);
        receiver.signal(name);
        assert_eq!(receiver.end(), Some(0), "{name}");
    }
    let desk = Desk::empty();
    // Standard input is /dev/null: it ends at once.
    let (mut receiver, _) = desk.receiver(&["--end-with-stdin"]);
    assert_eq!(receiver.end(), Some(0));
}

#[test]
fn a_judgement_of_the_receiver_rejects_a_command() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&["--refuse-kind", "order.paid"]);
    desk.configure(port, "\"forever\"", "");
    desk.enqueue("a");
    desk.run(&["relay", "--until-idle"]).is_done();
    assert_eq!(desk.show("a")["state"], "rejected");
    assert_eq!(desk.shipping("SELECT count(*) FROM jobs"), 0);
}
