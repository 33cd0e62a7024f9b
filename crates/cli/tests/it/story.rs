//! `show` for who wants to end a command: when it was sent, who has it, what to type.

use rusqlite::Connection;

use crate::program::{Desk, Said, wait_until};
use crate::relay::answering;

const NO: &str = "HTTP/1.1 400 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const LATER: &str = "HTTP/1.1 202 Later\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

fn told(desk: &Desk, id: &str, words: &[&str]) -> String {
    let told = desk.run(&["show", id]);
    let out = told.is_done().out.clone();
    words.iter().for_each(|word| assert!(out.contains(word), "{word}: {out}"));
    out
}

/// The command lines that a story ends with.
fn typed(out: &str) -> Vec<String> {
    let lines = out.lines().filter_map(|line| line.strip_prefix("  counterfoil "));
    lines.map(|line| line.replace("\"…\"", "because")).collect()
}

fn does(desk: &Desk, line: &str) -> Said {
    desk.run(&line.split(' ').collect::<Vec<_>>())
}

/// "First sent" moved to the round that a redelivery began.
#[test]
fn the_first_send_stays_the_first_and_the_newest_is_told_beside_it() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    desk.enqueue("a");
    desk.run(&["relay", "--until-idle"]).is_done();
    let first = desk.show("a")["first_sent_at"].clone();
    assert!(!told(&desk, "a", &["first sent"]).contains("sent again"));
    desk.run(&["redeliver", "a", "--reason", "they lost it"]).is_done();
    desk.run(&["relay", "--until-idle"]).is_done();
    let shown = desk.show("a");
    assert_eq!(shown["first_sent_at"], first);
    assert!(shown["last_sent_at"].as_str() > first.as_str(), "{shown}");
    let out = told(&desk, "a", &["sent again, the newest time"]);
    assert!(out.contains(&format!("{}  first sent", first.as_str().unwrap())), "{out}");
}

#[test]
fn an_accepted_command_says_by_what_when_and_until_when() {
    let desk = Desk::new();
    let port = answering(LATER);
    desk.configure(port, "\"forever\"", "completion = \"receipt\"");
    desk.enqueue("a");
    desk.run(&["relay", "--until-idle"]).is_done();
    let out = told(&desk, "a", &["published", "  accepted: HTTP 202", "its receipt is due at 20"]);
    let lines: Vec<_> = out.lines().filter(|line| line.starts_with("20")).collect();
    assert!(lines.is_sorted() && lines.len() == 3, "{out}");
}

/// Of what is dead only two verbs were named.
#[test]
fn each_verb_that_a_dead_command_names_can_be_pasted() {
    let desk = Desk::new();
    desk.configure(answering(NO), "\"forever\"", "");
    for id in ["a", "b", "c", "d"] {
        desk.enqueue(id);
    }
    assert_eq!(desk.run(&["relay", "--until-idle"]).code, Some(1));
    let lines = typed(&told(&desk, "a", &["dead", "no machine tries again"]));
    assert_eq!(
        lines,
        [
            "retry a",
            "resolve a --completed --evidence because",
            "resolve a --rejected --evidence because",
            "cancel a --reason because",
        ]
    );
    for (line, id) in lines.iter().zip(["a", "b", "c", "d"]) {
        does(&desk, &line.replacen(" a", &format!(" {id}"), 1)).is_done();
    }
}

/// A verb that is refused was named all the same, and a dry run counted it as done.
#[test]
fn past_its_expiry_no_retry_is_named_and_a_dry_run_says_so() {
    let desk = Desk::new();
    desk.configure(answering(NO), "\"forever\"", "");
    let what = ["enqueue", "a", "--to", "shipping", "--kind", "k", "--body", "1"];
    desk.run(&[&what[..], &["--expires", "3s"]].concat()).is_done();
    desk.enqueue("b");
    assert_eq!(desk.run(&["relay", "--until-idle"]).code, Some(1));
    if desk.show("a")["state"] == "expired" {
        // The machine was too slow to send it in time; then there is nothing to look at.
        return;
    }
    wait_until("its expiry is over", || {
        let out = told(&desk, "a", &["its expiry: 20"]);
        out.contains("is over: it can be sent no more") && !out.contains("counterfoil retry")
    });
    assert!(typed(&told(&desk, "b", &[])).contains(&"retry b".to_owned()));
    let filter = ["retry", "--state", "dead"];
    let refused = "left alone: 1, such as a: it is past its expiry";
    let foreseen = desk.run(&[&filter[..], &["--dry-run"]].concat());
    let words = format!("retry: 2 commands found, 1 would be done\n{refused}");
    assert!(foreseen.is_done().out.contains(&words), "{foreseen:?}");
    let done = desk.run(&[&filter[..], &["--yes"]].concat());
    assert!(done.code == Some(1) && done.out.contains(refused), "{done:?}");
}

/// A contradiction reddened the audit for ever: there was no way to say that it was looked into.
#[test]
fn a_contradiction_ends_when_somebody_says_what_is_true() {
    let desk = Desk::new();
    let (_receiver, port) = desk.receiver(&[]);
    desk.configure(port, "\"forever\"", "");
    desk.enqueue("a");
    desk.run(&["relay", "--until-idle"]).is_done();
    let report = "INSERT INTO counterfoil_report(command_id, outcome, evidence)
                  VALUES ('a', 'rejected', 'they said no')";
    Connection::open(desk.path("orders.db")).unwrap().execute_batch(report).unwrap();
    assert_eq!(desk.run(&["audit"]).code, Some(1));
    assert_eq!(desk.show("a")["contradicted"], true);
    let out = told(&desk, "a", &["contradiction: rejected", "find out at the receiver"]);
    let lines = typed(&out);
    assert_eq!(lines.len(), 2, "{out}");
    let said = does(&desk, &lines[0]);
    assert!(said.is_done().out.contains("its receipt stays completed"), "{said:?}");
    let audit = desk.run(&["audit"]);
    assert!(audit.is_done().out.contains("1 contradiction was looked into"), "{audit:?}");
    assert_eq!(desk.run(&["audit", "--full", "--json"]).json()["acknowledged"], 1);
    told(&desk, "a", &["next: nothing, it has ended"]);
    does(&desk, &lines[0]).refuses(1, &["it has ended"]);
}

#[test]
fn status_says_what_expires_next() {
    let desk = Desk::new();
    desk.configure(9, "false", "");
    let what = ["enqueue", "a", "--to", "shipping", "--kind", "k", "--body", "1"];
    desk.run(&[&what[..], &["--expires", "2099-01-01T00:00:00Z"]].concat()).is_done();
    desk.enqueue("b");
    let status = desk.run(&["status"]);
    let note = "1 with an expiry, the first 2099-01-01T00:00:00Z";
    assert!(status.is_done().out.contains(note), "{status:?}");
    let status = desk.run(&["status", "--json"]).json();
    assert_eq!(status["expiring"]["shipping"]["count"], 1);
}

#[test]
fn a_resume_keeps_its_reason_where_one_is_given() {
    let desk = Desk::new();
    desk.configure(9, "false", "");
    desk.enqueue("a");
    let pause = || desk.run(&["pause", "shipping", "--reason", "they move"]).is_done().code;
    pause();
    desk.run(&["resume", "shipping"]).is_done();
    pause();
    desk.run(&["resume", "shipping", "--reason", "they moved"]).is_done();
    desk.run(&["resume", "shipping", "--reason", " "]).refuses(2, &["--reason"]);
    let kept = "SELECT group_concat(coalesce(reason, '-')) = '-,they moved'
                FROM counterfoil_operator_action WHERE verb = 'resume' ORDER BY id";
    assert_eq!(desk.orders(kept), 1);
}
