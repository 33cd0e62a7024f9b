//! `drill --contract`: receivers without keys, and that a drill without its rule ends red.

use rusqlite::Connection;

use crate::program::{Desk, Said, number, wait_until};

/// A small drill that leaves `d.db`, and beside it the receiver's `d.shipping.db`.
fn drilled(desk: &Desk, contract: &str, seed: &str) -> Said {
    let small = ["drill", "--orders", "40", "--store", "sqlite:d.db", "--seed", seed];
    let said = desk.run(&[&small[..], &["--contract", contract]].concat());
    assert!(said.out.contains("the audit holds: 40 commands"), "{said:?}");
    said
}

/// Commands of `d.db` in a state.
fn in_state(desk: &Desk, state: &str) -> i64 {
    let count = "SELECT count(*) FROM counterfoil_delivery WHERE state =";
    number(&desk.path("d.db"), &format!("{count} '{state}'"))
}

/// The most effects that one key has.
fn most_effects(desk: &Desk) -> i64 {
    let most = "SELECT max(effects) FROM (SELECT count(*) AS effects FROM jobs GROUP BY key)";
    number(&desk.path("d.shipping.db"), most)
}

/// The rows of the table of what waits for a person.
fn listed(said: &Said) -> Vec<&str> {
    let table = said.out.split("waits for a person").nth(1).unwrap_or_default();
    table.lines().filter(|line| line.trim_start().starts_with("order.paid:")).collect()
}

#[test]
fn without_keys_or_answers_what_is_unknown_is_listed_and_nothing_acts_twice() {
    let desk = Desk::empty();
    let said = drilled(&desk, "none", "3");
    said.is_done();
    assert!(said.out.contains("no order acted twice"), "{said:?}");
    assert_eq!(most_effects(&desk), 1);
    let (listed, uncertain) = (listed(&said), in_state(&desk, "uncertain"));
    assert_eq!(listed.len(), usize::try_from(uncertain).unwrap(), "{said:?}");
    // Two of the told orders were done, the third was not: a person sees which.
    for (order, has) in [("000001", "1 job"), ("000002", "1 job"), ("000003", "nothing")] {
        let row = listed.iter().find(|row| row.contains(order)).unwrap();
        assert!(row.contains("uncertain") && row.contains("unknown: "), "{row}");
        assert!(row.trim_end().ends_with(has), "{row}");
    }
    // Each is done, or listed.
    let completed = "SELECT count(*) FROM counterfoil_receipt WHERE outcome = 'completed'";
    assert_eq!(number(&desk.path("d.db"), completed) + uncertain, 40);
}

#[test]
fn a_receiver_that_can_be_asked_is_asked_and_everything_is_done_once() {
    let desk = Desk::empty();
    let said = drilled(&desk, "askable", "5");
    said.is_done();
    assert_eq!(most_effects(&desk), 1);
    let answered = said.out.lines().find(|line| line.starts_with("questions answered"));
    let answered = answered.unwrap_or_else(|| panic!("no questions: {said:?}"));
    assert!(answered.contains(" done") && answered.contains(" not there"), "{answered}");
    // What was asked about ended by the receiver's answer, or was sent a second time.
    let by_answer = "SELECT count(*) FROM counterfoil_receipt WHERE source = 'question'";
    assert!(number(&desk.path("d.db"), by_answer) >= 2);
    let resent = "SELECT attempts FROM counterfoil_receipt JOIN counterfoil_outbox USING (n)
                  WHERE command_id = 'order.paid:A-000003'";
    assert!(number(&desk.path("d.db"), resent) >= 2);
    let uncertain = in_state(&desk, "uncertain");
    assert_eq!(listed(&said).len(), usize::try_from(uncertain).unwrap());
}

/// Somebody does a job a second time behind the drill's back, where no key would fold it.
#[test]
fn a_second_effect_makes_a_drill_without_keys_exit_1() {
    for contract in ["none", "askable"] {
        let desk = Desk::empty();
        let drill = ["drill", "--orders", "30", "--store", "sqlite:d.db", "--contract", contract];
        let mut drill = desk.start(&drill);
        let double = "INSERT INTO jobs(n, source, key, body, result)
                      SELECT n + 1000000, source, key, body, result FROM jobs WHERE n = 1";
        wait_until("there is a job", || {
            let opened = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE;
            let shipping = Connection::open_with_flags(desk.path("d.shipping.db"), opened);
            shipping.and_then(|shipping| shipping.execute(double, [])).is_ok_and(|rows| rows == 1)
        });
        drill.hear("differs: command order.paid:A-000001 has 2 effects");
        assert_eq!(drill.end(), Some(1), "{contract}");
    }
}

/// The page names every flag, and shows the rows that a drill prints.
#[test]
fn the_page_of_the_drill_has_its_flags_and_rows() {
    let page = include_str!("../../../../docs/drill.md");
    let desk = Desk::empty();
    let help = desk.run(&["drill", "--help"]);
    let own = help.is_done().out.split("Options of every verb").next().unwrap();
    let flags = own.split_whitespace().filter(|word| word.starts_with("--") && *word != "--help");
    for flag in flags {
        assert!(page.contains(&format!("| `{flag}")), "{flag} has no row");
    }
    let shown = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let books = |text: &str| {
        let inside = text.split("the sender's book").nth(1).unwrap().split("killed with").next();
        let is_word = |word: &&str| word.chars().all(|c| !c.is_numeric() && c != '─');
        let words = inside.unwrap().split_whitespace().filter(is_word);
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    let said = desk.run(&["drill", "--orders", "3", "--contract", "none"]);
    assert_eq!(books(&said.is_done().out), books(shown));
    // One ends uncertain for each of the told orders, and nothing else was paid.
    assert_eq!(listed(&said).len(), 3, "{said:?}");
}
