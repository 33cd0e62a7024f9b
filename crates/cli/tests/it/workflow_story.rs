//! What `workflow show`, `workflow list` and `status` say of workflows, and of what they leave out.
//!
//! Guarantees: each case runs on both databases. Does not: run a program; rows are written by hand.

use crate::workflow::{BEGUN, Books};

fn told(books: &Books, words: &[&str]) -> String {
    books.run(words).is_done().out.clone()
}

/// `show --at 200` at head 6 showed everything without a word, a long story began in its middle.
fn a_part_of_a_story_says_what_it_leaves_out(books: &Books) {
    books.forge(BEGUN);
    books.forge(
        "INSERT INTO cf.event(stream, seq, kind, body, cause, commands, recorded_at) \
         VALUES ('t-1', 2, 'signal:a', '1', 'a', 0, 1767225600000000), \
           ('t-1', 3, 'signal:b', '2', 'b', 0, 1767225600000000), \
           ('t-1', 4, 'signal:c', '3', 'c', 0, 1767225600000000); \
         UPDATE cf.stream SET head = 4",
    );
    let show = |rest: &[&str]| told(books, &[&["workflow", "show", "t-1"], rest].concat());
    let whole = show(&[]);
    assert!(!whole.contains("earlier ones") && !whole.contains("newest"), "{whole}");
    let newest = show(&["--limit", "2"]);
    assert!(newest.contains("earlier ones: counterfoil workflow show t-1 --at 2\n"), "{newest}");
    assert!(newest.contains("signal:b") && !newest.contains("signal:a"), "{newest}");
    let late = show(&["--at", "200"]);
    assert!(late.contains("there is no event 200 yet: the newest is 4"), "{late}");
    let early = show(&["--at", "2"]);
    assert!(early.contains("up to 2 alone: the newest is 4"), "{early}");
    assert!(early.contains("signal:a") && !early.contains("signal:b"), "{early}");
}

/// The way on among the inputs was an id that no verb took.
fn a_page_of_inputs_goes_on(books: &Books) {
    books.forge(BEGUN);
    for id in ["a", "b", "c"] {
        let signal = ["workflow", "signal", "t-1", "approve", "--id", id];
        books.run(&signal).is_done();
    }
    let rest = told(books, &["workflow", "show", "t-1", "--inputs-after", "b"]);
    let is_there = |id: &str| rest.contains(&format!("  {id}  signal:approve"));
    assert!(is_there("c") && !is_there("a") && !is_there("b"), "{rest}");
}

/// It was cut at 100 without a word.
fn a_list_says_that_more_follows(books: &Books) {
    let row = |name: &str| format!("('{name}', 'trip', 1, 'completed', 1)");
    let rows = ["a", "b", "c"].map(row).join(", ");
    books.forge(&format!(
        "INSERT INTO cf.stream(stream, workflow, version, status, head) VALUES {rows}"
    ));
    let list = |rest: &[&str]| books.run(&[&["workflow", "list"], rest].concat());
    let page = list(&["--limit", "2"]).is_done().out.clone();
    assert!(page.ends_with("more follow: say the same again with --after b\n"), "{page}");
    let said = list(&["--limit", "2", "--json"]);
    assert_eq!(said.is_done().out.lines().count(), 2);
    assert!(said.err.contains("--after b"), "beside JSON it is talk: {said:?}");
    let rest = list(&["--limit", "2", "--after", "b"]).is_done().out.clone();
    assert!(rest.contains('c') && !rest.contains("more follow"), "{rest}");
    for id in ["1", "2"] {
        books.run(&["workflow", "signal", "o", "approve", "--id", id]).is_done();
    }
    let page = list(&["--orphans", "--limit", "1"]).is_done().out.clone();
    assert!(page.ends_with("again with --after o --after-id 1\n"), "{page}");
}

/// Right after a start the list said that no workflows match.
fn what_waits_is_pointed_to(books: &Books) {
    let list = |rest: &[&str]| told(books, &[&["workflow", "list"], rest].concat());
    assert_eq!(list(&[]), "no workflows match\n");
    assert_eq!(told(books, &["status"]), "no command was ever recorded here\n");
    books.run(&["workflow", "start", "t-1", "--workflow", "trip"]).is_done();
    let waiting = "not among them: counterfoil workflow list --status waiting\n";
    for rest in [&[][..], &["--workflow", "trip"]] {
        assert!(list(rest).ends_with(waiting), "{rest:?}");
    }
    assert_eq!(list(&["--workflow", "tour"]), "no workflows match\n");
    books.run(&["workflow", "signal", "o", "approve", "--id", "1"]).is_done();
    let status = told(books, &["status"]);
    assert!(status.contains("1 start waits for a runner, the oldest for "), "{status}");
    assert!(status.contains("1 input waits without any start: counterfoil workflow"), "{status}");
    let status = books.run(&["status", "--json"]).json();
    let still = &status["workflows"];
    assert_eq!((&still["waiting"], &still["orphans"]), (&1.into(), &1.into()));
    let orphan = told(books, &["workflow", "show", "o"]);
    assert!(orphan.starts_with("o · never started as a workflow\n"), "{orphan}");
    assert!(orphan.contains("counterfoil workflow start o --workflow NAME"), "{orphan}");
    let verify = ["workflow", "verify", "o", "--", "cat"];
    books.run(&verify).refuses(1, &["workflow o was never started"]);
}

/// A saga stood still on it, and nothing said so.
fn a_refused_undo_is_told_with_the_way_out(books: &Books) {
    books.forge(BEGUN);
    books.forge(
        "INSERT INTO cf.event(stream, seq, kind, body, cause, commands, recorded_at) \
         VALUES ('t-1', 2, 'cancel:cancel', 'rain', 'c', 0, 1767225600000000), \
           ('t-1', 3, 'undo_refused', '{\"reason\":\"refused: no\",\"step\":\"it''s\"}', NULL, 0, \
            1767225600000000); \
         UPDATE cf.stream SET head = 3",
    );
    let told = told(books, &["workflow", "show", "t-1"]);
    assert!(
        told.contains("waits for a person: the undo of it's was refused: refused: no"),
        "{told}"
    );
    let line = told.lines().find_map(|line| line.split_once("done by hand: ")).unwrap().1;
    assert!(told.contains("ask once more: counterfoil workflow signal t-1 undo_again"), "{told}");
    // As a shell reads it.
    let shell = std::process::Command::new("sh")
        .args(["-c", &line.replacen("counterfoil", "printf '%s\n'", 1)])
        .output()
        .unwrap();
    let words = String::from_utf8(shell.stdout).unwrap();
    let words: Vec<_> = words.lines().collect();
    let body = r#"{"step":"it's"}"#;
    let expected = ["workflow", "signal", "t-1", "undone", "--id", "undone-3", "--body", body];
    assert_eq!(words, expected);
    assert_eq!(books.run(&words).is_done().out, "recorded\n");
}

on_both_stores! {
    a_part_of_a_story_says_what_it_leaves_out
    a_page_of_inputs_goes_on
    a_list_says_that_more_follows
    what_waits_is_pointed_to
    a_refused_undo_is_told_with_the_way_out
}
