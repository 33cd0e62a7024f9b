//! The verbs of workflows, by the program.
//!
//! Guarantees: an input is recorded once, and what waits is shown. Does not: run a program; the
//! examples do.

use crate::program::Desk;

const STORE: &str = "sqlite:orders.db";

fn desk() -> Desk {
    let desk = Desk::empty();
    desk.run(&["init", "--store", STORE]).is_done();
    desk
}

fn start<'a>(body: &'a str) -> Vec<&'a str> {
    vec!["workflow", "start", "t-1", "--workflow", "trip", "--body", body, "--store", STORE]
}

#[test]
fn an_input_is_recorded_once_and_waits() {
    let desk = desk();
    let store = ["--store", STORE];
    let with = |words: &[&'static str]| [words, &store].concat();
    let approve = with(&["workflow", "signal", "t-1", "approve", "--id", "boss"]);
    assert_eq!(desk.run(&approve).is_done().out, "recorded\n");
    let orphans = desk.run(&with(&["workflow", "list", "--orphans"])).is_done().out.clone();
    assert!(orphans.contains("boss") && orphans.contains("approve"), "{orphans}");
    assert_eq!(desk.run(&start("{}")).is_done().out, "recorded\n");
    assert_eq!(desk.run(&start("{}")).is_done().out, "repeated\n");
    desk.run(&start("[]")).refuses(1, &["input start of workflow t-1 stands with other content"]);
    let cancel = with(&["workflow", "cancel", "t-1", "--reason", "rain"]);
    assert_eq!(desk.run(&cancel).is_done().out, "recorded\n");
    let story = desk.run(&with(&["workflow", "show", "t-1", "--json"])).json();
    assert_eq!((&story["status"], &story["workflow"]), (&"waiting".into(), &"trip".into()));
    assert_eq!(story["inputs"].as_array().unwrap().len(), 3);
    let told = desk.run(&with(&["workflow", "show", "t-1"])).is_done().out.clone();
    assert!(told.contains("waits for its start to be decided"), "{told}");
}

#[test]
fn what_breaks_a_rule_is_refused_by_name() {
    let desk = desk();
    let says = |words: &[&'static str], code, why: &[&str]| {
        desk.run(&[words, &["--store", STORE]].concat()).refuses(code, why);
    };
    says(&["workflow", "show", "t-9"], 1, &["no workflow \"t-9\" was ever started or signalled"]);
    says(&["workflow", "retry", "t-9"], 1, &["no workflow"]);
    says(&["workflow", "start", "t", "--workflow", "a/b"], 1, &["a workflow's name has no `/`"]);
    says(&["workflow", "signal", "t", "n", "--id", "timer:1:x"], 1, &["Counterfoil's own"]);
    says(&["workflow", "verify"], 2, &["name it after `--`, or --export FILE"]);
    says(&["workflow", "verify", "t-9", "--export", "-"], 1, &["no workflow"]);
}

#[test]
fn a_program_that_judges_gives_the_exit_code() {
    let desk = desk();
    for (program, code) in [("true", Some(0)), ("false", Some(1)), ("./none", Some(2))] {
        let said = desk.run(&["workflow", "verify", "--store", STORE, "--", program]);
        assert_eq!(said.code, code, "{said:?}");
    }
}
