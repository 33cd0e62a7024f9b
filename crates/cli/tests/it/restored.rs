//! `restored`: what it refuses, and what it says and records.

use crate::program::Desk;

const STORE: [&str; 2] = ["--store", "sqlite:orders.db"];

fn restored(desk: &Desk, args: &[&str]) -> crate::program::Said {
    desk.run(&[&["restored"], args, &STORE].concat())
}

#[test]
fn what_is_open_becomes_in_doubt_and_the_act_is_recorded() {
    let desk = Desk::new();
    ["a", "b"].iter().for_each(|id| desk.enqueue(id));
    let said = restored(&desk, &["--at", "0s", "--actor", "ana"]);
    let words = ["2 open commands are in doubt", "start the relay", "--state uncertain"];
    for word in words {
        assert!(said.is_done().out.contains(word), "{word}: {said:?}");
    }
    for id in ["a", "b"] {
        let shown = desk.show(id);
        assert_eq!(shown["in_doubt"], true);
        assert!(shown["first_sent_at"].is_null(), "nobody sent it: {shown}");
        assert_eq!(shown["actions"][0]["what"], "restored", "{shown}");
    }
    let acts = "SELECT count(*) FROM counterfoil_operator_action WHERE verb = 'restored'
                AND about = 'store' AND actor = 'ana'";
    assert_eq!(desk.orders(acts), 1);
    let told = desk.run(&[&["show", "a"][..], &STORE].concat());
    assert!(told.is_done().out.contains("next: it waits for a person, as uncertain"), "{told:?}");
    assert!(told.out.contains("no contract is stored"), "{told:?}");
    assert!(told.out.contains("restored: ana: from a backup taken at 20"), "{told:?}");
    assert!(!told.out.contains("first sent"), "{told:?}");
}

#[test]
fn without_a_name_the_user_of_the_system_stands_in_the_books() {
    let desk = Desk::new();
    desk.enqueue("a");
    let run = |name: &str| {
        let mut command = desk.command(&[&["restored", "--at", "0s"][..], &STORE].concat());
        command.env_remove("LOGNAME").env("USER", name);
        assert!(command.output().unwrap().status.success());
    };
    run("bo");
    run("");
    let by = |actor: &str| {
        desk.orders(&format!(
            "SELECT count(*) FROM counterfoil_operator_action WHERE actor GLOB '{actor}'"
        ))
    };
    assert_eq!((by("bo"), by("uid [0-9]*")), (1, 1));
}

#[test]
fn a_time_at_which_no_backup_of_it_can_have_been_taken_is_refused() {
    let desk = Desk::new();
    desk.enqueue("a");
    let before = restored(&desk, &["--at", "1d", "--yes"]);
    before.refuses(1, &["before this store existed", "first command was recorded"]);
    let future = restored(&desk, &["--at", "2100-01-01T00:00:00Z", "--yes"]);
    future.refuses(1, &["in the future", "the backup was taken"]);
    restored(&desk, &["--at", "noon"]).refuses(2, &["--at \"noon\"", "RFC 3339", "2h"]);
    restored(&desk, &["--at", "0s", "--actor", ""]).refuses(2, &["--actor"]);
    desk.run(&["restored", "--at", "0s", "--store", "sqlite:none.db"]).refuses(2, &["none.db"]);
    assert_eq!(restored(&desk, &["--yes"]).code, Some(2));
    assert_eq!(desk.show("a")["in_doubt"], false);
    assert_eq!(desk.orders("SELECT count(*) FROM counterfoil_operator_action"), 0);
}

#[test]
fn with_nothing_open_nothing_is_in_doubt() {
    let desk = Desk::new();
    let said = restored(&desk, &["--at", "1d"]);
    assert!(said.is_done().out.contains("nothing is in doubt"), "{said:?}");
}
