//! Holds `docs/policy.md` to the decision table.
//!
//! Guarantees: every cell of the document is what `policy::table::then` says. Does not: write the
//! file, unless `UPDATE_DOCS=1` is set; drive a relay through the cells, which the relay's own
//! test `table` does.

use std::fmt::Write as _;
use std::path::Path;

use counterfoil_core::domain::policy::table::{Came, Situation, Then, then};

const BEGIN: &str = "<!-- generated: begin -->\n";
const END: &str = "<!-- generated: end -->\n";

/// The columns: the idempotent receiver inside its window, the askable one, and neither.
fn columns() -> [(&'static str, Situation); 3] {
    let neither = Situation::default();
    [
        ("idempotent, inside the window", Situation { repeatable: true, ..neither }),
        ("askable, questions left", Situation { askable: true, ..neither }),
        ("neither, or window over and questions spent", neither),
    ]
}

const fn name(came: Came) -> &'static str {
    match came {
        Came::Completed => "Completed",
        Came::Accepted => "Accepted",
        Came::RejectedByReceiver => "Rejected by the receiver's own word",
        Came::RejectedByStatus => "Rejected read from a status",
        Came::NotSent => "NotSent",
        Came::Unknown => "Unknown",
        Came::Ask => "Unknown, where a repeat would only hear the same (`\"ask\"`)",
        Came::Conflict => "Conflict",
    }
}

fn word(then: Then) -> String {
    match then {
        Then::End(outcome) => format!("receipt **{}**", outcome.name()),
        Then::Publish => "published".into(),
        Then::Retry => "retry, same id, same bytes".into(),
        Then::Ask => "ask".into(),
        Then::Uncertain => "**uncertain**".into(),
        Then::Dead => "dead".into(),
        Then::Conflict => "conflict".into(),
    }
}

/// Makes a situation of a column.
type Change = fn(&mut Situation);

/// The situations in which a row is shown, in words; only those that change it.
fn variants(came: Came) -> Vec<(&'static str, Change)> {
    match came {
        Came::Accepted => {
            vec![("", |_| {}), ("`completion = \"accepted\"`", |at| at.completes_on_accept = true)]
        }
        Came::RejectedByStatus => vec![
            ("`on_refusal = \"park\"`", |_| {}),
            ("`on_refusal = \"reject\"`", |at| at.refusal_ends = true),
            ("in doubt before", |at| (at.in_doubt, at.refusal_ends) = (true, true)),
        ],
        Came::NotSent => vec![
            ("", |_| {}),
            ("attempts or horizon spent", |at| at.spent = true),
            ("spent, in doubt before", |at| (at.spent, at.in_doubt) = (true, true)),
        ],
        Came::Unknown => vec![
            ("", |at| at.in_doubt = true),
            ("attempts or horizon spent", |at| (at.spent, at.in_doubt) = (true, true)),
        ],
        Came::Ask => vec![("", |at| at.in_doubt = true)],
        Came::Completed | Came::RejectedByReceiver | Came::Conflict => vec![("", |_| {})],
    }
}

fn generated() -> String {
    let columns = columns();
    let mut table = String::from("| outcome |");
    for (title, _) in &columns {
        write!(table, " {title} |").unwrap();
    }
    table.push_str("\n|---|---|---|---|\n");
    for came in Came::ALL {
        for (when, change) in variants(came) {
            let comma = if when.is_empty() { "" } else { ", " };
            write!(table, "| {}{comma}{when} |", name(came)).unwrap();
            for (_, column) in columns {
                let mut at = column;
                change(&mut at);
                write!(table, " {} |", word(then(came, at))).unwrap();
            }
            table.push('\n');
        }
    }
    table
}

#[test]
fn the_document_says_what_the_table_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md");
    let stands = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = stands.split_once(BEGIN).expect("a place for the generated table");
    let (table, tail) = rest.split_once(END).expect("the end of the generated table");
    let fresh = generated();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{BEGIN}\n{fresh}\n{END}{tail}")).unwrap();
    } else {
        assert_eq!(table.trim(), fresh.trim(), "UPDATE_DOCS=1 cargo test writes the table anew");
    }
}

/// Every combination of questions, not only those of the document.
fn situations() -> impl Iterator<Item = Situation> {
    (0_u8..64).map(|bits| {
        let bit = |place: u8| bits & (1 << place) != 0;
        Situation {
            in_doubt: bit(0),
            spent: bit(1),
            repeatable: bit(2),
            askable: bit(3),
            completes_on_accept: bit(4),
            refusal_ends: bit(5),
        }
    })
}

#[test]
fn nothing_in_doubt_is_called_dead_or_refused_by_a_status() {
    for at in situations().filter(|at| at.in_doubt) {
        for came in [Came::RejectedByStatus, Came::NotSent, Came::Unknown, Came::Ask] {
            let then = then(came, at);
            assert!(!matches!(then, Then::Dead | Then::End(_)), "{came:?} {at:?}: {then:?}");
        }
    }
}

#[test]
fn what_may_have_acted_is_sent_again_inside_the_window_only() {
    for at in situations() {
        assert!(then(Came::Unknown, at) != Then::Retry || (at.repeatable && !at.spent), "{at:?}");
        assert_ne!(then(Came::Ask, at), Then::Retry, "{at:?}");
    }
}

#[test]
fn a_person_comes_last() {
    for at in situations() {
        for came in Came::ALL {
            let parked = then(came, at) == Then::Uncertain;
            assert!(!parked || !at.askable, "{came:?} {at:?}: the receiver could be asked");
        }
    }
}
