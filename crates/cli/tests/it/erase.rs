//! `erase`: what it clears, what it leaves, and what it refuses.

use serde_json::json;

use crate::archive::{archived, file, run, with_ended};

#[test]
fn content_goes_from_the_store_and_the_record_stays() {
    let desk = with_ended(&["a"]);
    let said = run(&desk, &["erase", "a", "--reason", "letter 12", "--actor", "ann"]);
    let lines: Vec<_> = said.is_done().out.lines().collect();
    assert_eq!(lines[0], "a: erased; digests and receipts stay");
    assert!(lines[1].contains("no folder of an archive was named"), "{lines:?}");
    assert!(lines[2].contains("backups"), "{lines:?}");
    let shown = desk.show("a");
    assert_eq!((&shown["body"], &shown["state"]), (&json!(null), &json!("completed")));
    assert_eq!(shown["receipt"]["result"], json!(null));
    let acts = shown["actions"].as_array().unwrap();
    let act = acts.iter().find(|act| act["what"] == "erase").unwrap();
    assert_eq!((&act["outcome"], &act["reason"]), (&json!("ann"), &json!("letter 12")));
    let again = run(&desk, &["erase", "a", "--reason", "again", "--json"]).json();
    assert_eq!((&again["done"], &again["repeated"]), (&json!(true), &json!(true)));
    let told = run(&desk, &["show", "a"]);
    for word in ["its content was erased", "receipt of round 1: completed (by operator"] {
        assert!(told.is_done().out.contains(word), "{word}: {told:?}");
    }
    run(&desk, &["audit"]).is_done();
    let sent = run(&desk, &["redeliver", "a", "--reason", "x", "--may-act-twice"]);
    sent.refuses(1, &["its content was erased"]);
}

#[test]
fn an_archived_one_goes_from_its_file() {
    let desk = with_ended(&["a", "b"]);
    run(&desk, &["audit"]).is_done();
    archived(&desk).is_done();
    let name = file(&desk, ".jsonl.zst");
    let bare = run(&desk, &["erase", "a", "--reason", "letter 12"]);
    bare.refuses(1, &[&name, "nothing was erased", "--archive DIR"]);
    let said = run(&desk, &["erase", "a", "--reason", "letter 12", "--archive", "old"]);
    assert!(said.is_done().out.contains(&format!("rewritten without it: {name}")), "{said:?}");
    run(&desk, &["archive", "--verify", "old"]).is_done();
    run(&desk, &["audit"]).is_done();
    run(&desk, &["audit", "--full"]).is_done();
    let told = run(&desk, &["show", "a", "--archive", "old", "--json"]).json();
    assert_eq!((&told["body"], &told["receipt"]["result"]), (&json!(null), &json!(null)));
    let other = run(&desk, &["show", "b", "--archive", "old", "--json"]).json();
    assert_eq!((&other["body"], &other["receipt"]["result"]), (&json!("{}"), &json!("r")));
    let again = run(&desk, &["erase", "a", "--reason", "x", "--archive", "old", "--json"]).json();
    assert_eq!(again["files"], json!([]));
    let twice = ["erase", "b", "--reason", "x", "--archive", "old", "--archive", "./old"];
    run(&desk, &twice).is_done();
}

#[test]
fn what_cannot_be_erased_is_named() {
    let desk = with_ended(&["a"]);
    run(&desk, &["erase", "a"]).refuses(2, &["--reason"]);
    run(&desk, &["erase", "open", "--reason", "x"])
        .refuses(1, &["open", "has not ended", "cancel"]);
    run(&desk, &["erase", "never", "--reason", "x"]).refuses(1, &["never", "ever recorded"]);
    let none = run(&desk, &["erase", "a", "--reason", "x", "--archive", "none"]);
    none.refuses(2, &["no folder none"]);
    archived(&desk).is_done();
    std::fs::create_dir(desk.path("other")).unwrap();
    let other = run(&desk, &["erase", "a", "--reason", "x", "--archive", "other"]);
    other.refuses(1, &["is not in other", "name its folder"]);
    assert_eq!(
        desk.orders("SELECT count(*) FROM counterfoil_operator_action WHERE verb = 'erase'"),
        0
    );
}
