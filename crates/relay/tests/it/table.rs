//! The decision table, cell by cell, through a real relay.
//!
//! Guarantees: each cell of `docs/policy.md`, and each of the table's situations besides, is
//! what a command really comes to; a row or a variant that is not driven here fails. Does not:
//! use a receiver that misbehaves; see the files named after faults.

use std::time::Duration;

use counterfoil_core::domain::policy::table::{Came, Situation, Then, then};
use counterfoil_core::domain::{
    Answer, Completion, Idempotent, Judge, OnRefusal, Outcome, ResultBody,
};
use counterfoil_testkit::{Receiver, Script};

use crate::scene::{Scene, askable, pass, secs};

const PAGE: &str = include_str!("../../../../docs/policy.md");

/// What a command came to.
#[derive(Debug)]
struct End {
    /// As announced by the settle.
    told: &'static str,
    /// As it stands in the store.
    state: String,
    in_doubt: bool,
}

/// An outcome of that row.
fn outcome(came: Came) -> Outcome {
    let reason = || "on purpose".to_owned();
    match came {
        Came::Completed => {
            Outcome::Completed { result: ResultBody::whole("done"), evidence: reason() }
        }
        Came::Accepted => Outcome::Accepted { evidence: reason() },
        Came::RejectedByReceiver => Outcome::Rejected { reason: reason(), by: Judge::Receiver },
        Came::RejectedByStatus => Outcome::Rejected { reason: reason(), by: Judge::Status },
        Came::NotSent => Outcome::not_sent(reason()),
        Came::Unknown => Outcome::unknown(reason()),
        Came::Ask => Outcome::Ask { reason: reason() },
        Came::Conflict => Outcome::Conflict { reason: reason() },
    }
}

/// A scene whose next attempt ends in that situation, but for the doubt.
fn scene(at: Situation) -> Scene {
    let idempotent = if at.repeatable { Idempotent::Forever } else { Idempotent::No };
    let mut scene = Scene::with(Receiver::without_keys(), idempotent, |transport| transport);
    let contract = &mut scene.terms.contract;
    if at.askable {
        let asking = askable(contract);
        (asking.quiet, asking.max_asks) = (secs(1), 1);
    }
    if at.completes_on_accept {
        contract.completion = Completion::Accepted;
    }
    if at.refusal_ends {
        contract.on_refusal = OnRefusal::Reject;
    }
    let pace = &mut scene.terms.pace;
    (pace.lease, pace.initial, pace.max) = (secs(13), secs(2), secs(2));
    if at.spent {
        // Where a repeat is safe, the attempt that puts it in doubt is of the same round.
        pace.max_attempts = 1 + u32::from(at.in_doubt && at.repeatable);
    }
    scene
}

/// Drives one command into the situation, and through an attempt that comes to `came`.
async fn driven(came: Came, at: Situation) -> End {
    let scene = scene(at);
    scene.enqueue("A").await;
    let mut settles = 1;
    if at.in_doubt {
        settles += 1;
        scene.transport.script("A", Script::lose_answer());
        let unclear = Answer::Unclear { reason: "HTTP 500".into() };
        scene.transport.script_answer("A", unclear);
    }
    scene.transport.script("A", Script::answer(outcome(came)));
    let relay = scene.start(scene.options().poll(Duration::from_millis(500)));
    if at.in_doubt && !at.repeatable {
        // Asked in vain where it can be asked; then a person allows one more send.
        settles += usize::from(at.askable);
        scene.reach("A", "uncertain").await;
        scene.retry_though_it_may_act_twice("A");
    }
    while scene.settled("A").len() < settles {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    relay.kill().await;
    let listed = scene.story("A").await.listed;
    let told = scene.settled("A")[settles - 1].1;
    End { told, state: listed.state, in_doubt: listed.in_doubt }
}

/// The name of the state or receipt.
fn name(then: Then) -> &'static str {
    match then {
        Then::End(outcome) => outcome.name(),
        Then::Publish => "published",
        Then::Retry => "pending",
        Then::Ask => "asking",
        Then::Uncertain => "uncertain",
        Then::Dead => "dead",
        Then::Conflict => "conflict",
    }
}

fn situations() -> impl Iterator<Item = Situation> {
    (0..64_u32).map(|bits| {
        let is = |bit: u32| bits & (1 << bit) != 0;
        Situation {
            in_doubt: is(0),
            spent: is(1),
            repeatable: is(2),
            askable: is(3),
            completes_on_accept: is(4),
            refusal_ends: is(5),
        }
    })
}

/// All 8 rows in all 64 situations, by the table that decides.
#[tokio::test(start_paused = true)]
async fn every_situation_comes_to_what_the_table_says() {
    for came in Came::ALL {
        for at in situations() {
            let then = then(came, at);
            let end = driven(came, at).await;
            let context = format!("{came:?} {at:?} -> {then:?}: {end:?}");
            assert_eq!((end.told, end.state.as_str()), (name(then), name(then)), "{context}");
            let in_doubt = match then {
                Then::Ask | Then::Uncertain => true,
                Then::Dead | Then::End(_) => false,
                Then::Publish | Then::Retry | Then::Conflict => {
                    at.in_doubt || matches!(came, Came::Unknown | Came::Ask)
                }
            };
            assert_eq!(end.in_doubt, in_doubt, "{context}");
        }
    }
}

/// What a row's label on the page means; `None` for a label that is not known here.
fn row(label: &str) -> Option<(Came, Situation)> {
    let plain = Situation::default();
    let in_doubt = Situation { in_doubt: true, ..plain };
    let spent = Situation { spent: true, ..plain };
    Some(match label {
        "Completed" => (Came::Completed, plain),
        "Accepted" => (Came::Accepted, plain),
        "Accepted, `completion = \"accepted\"`" => {
            (Came::Accepted, Situation { completes_on_accept: true, ..plain })
        }
        "Rejected by the receiver's own word" => (Came::RejectedByReceiver, plain),
        "Rejected read from a status, `on_refusal = \"park\"`" => (Came::RejectedByStatus, plain),
        "Rejected read from a status, `on_refusal = \"reject\"`" => {
            (Came::RejectedByStatus, Situation { refusal_ends: true, ..plain })
        }
        "Rejected read from a status, in doubt before" => (Came::RejectedByStatus, in_doubt),
        "NotSent" => (Came::NotSent, plain),
        "NotSent, attempts or horizon spent" => (Came::NotSent, spent),
        "NotSent, spent, in doubt before" => (Came::NotSent, Situation { in_doubt: true, ..spent }),
        "Unknown" => (Came::Unknown, plain),
        "Unknown, attempts or horizon spent" => (Came::Unknown, spent),
        "Unknown, where a repeat would only hear the same (`\"ask\"`)" => (Came::Ask, plain),
        "Conflict" => (Came::Conflict, plain),
        _ => return None,
    })
}

/// The state or receipt that a cell's words mean.
fn cell(words: &str) -> String {
    let words = words.replace("**", "");
    match words.strip_prefix("receipt ").unwrap_or(&words) {
        "retry, same id, same bytes" => "pending".into(),
        "ask" => "asking".into(),
        other => other.to_owned(),
    }
}

/// The page, row by row and column by column, without a look at the table that decides.
#[tokio::test(start_paused = true)]
async fn every_cell_of_the_page_is_what_a_command_comes_to() {
    let table = PAGE.split_once("<!-- generated: begin -->").unwrap().1;
    let table = table.split_once("<!-- generated: end -->").unwrap().0;
    let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    let mut driven_rows = Vec::new();
    for line in rows {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [label, columns @ ..] = cells.as_slice() else { panic!("{line}") };
        let (came, at) = row(label).unwrap_or_else(|| panic!("no test drives the row {label}"));
        driven_rows.push(came);
        let [inside, asking, neither] = columns else { panic!("{line}") };
        let (repeatable, askable) = (true, true);
        for (words, at) in [
            (inside, Situation { repeatable, ..at }),
            (asking, Situation { askable, ..at }),
            (neither, at),
        ] {
            let end = driven(came, at).await;
            assert_eq!(end.state, cell(words), "{label}: {at:?}");
        }
    }
    assert!(driven_rows.len() >= 14, "{driven_rows:?}");
    driven_rows.dedup();
    assert_eq!(driven_rows, Came::ALL, "a row of the table that the page does not show");
}

/// Idempotent and askable: sent again inside the window, and asked once it is over.
#[tokio::test(start_paused = true)]
async fn idempotent_and_askable_is_repeated_inside_the_window_and_asked_after_it() {
    let window = Idempotent::Window { key_ttl: secs(3600) };
    let mut scene = Scene::with(Receiver::with_keys(), window, |transport| {
        transport.by_default(Script::hang())
    });
    askable(&mut scene.terms.contract);
    scene.terms.contract.give_up_after = secs(3300);
    scene.terms.pace.max = secs(300);
    scene.enqueue("A").await;
    let relay = scene.start(scene.options());
    scene.reach("A", "asking").await;
    let repeats = scene.transport.sends("A");
    assert!(repeats > 3, "{repeats} sends inside the window");
    let last = scene.transport.sent().last().unwrap().now;
    let first = scene.transport.sent()[0].now;
    assert!(last.since(first) <= secs(3420 - 30), "and none after it");
    pass(200.0).await;
    assert!(scene.settled("A").contains(&("not_there", "pending")), "{:?}", scene.settled("A"));
    relay.stop().await;
}
