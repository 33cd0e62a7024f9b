//! What is hidden: a row that was made undecodable, content that was called erased.
//!
//! Guarantees: each story has its sample. Does not: repeat the others.

use super::*;
use crate::domain::laws::UnreadableFacts;

/// A row that was made undecodable escaped every law of digests.
#[test]
fn what_a_relay_has_read_can_be_read() {
    let unread = |body: &[u8]| UnreadableFacts {
        why: "the kind is empty".into(),
        destination: "shop".into(),
        body: Some(Digest::of(body)),
    };
    let hidden = |facts: CommandFacts, body: &[u8]| {
        let unreadable = Some(unread(body));
        CommandFacts { outbox: None, unreadable, ..facts }
    };
    let told = |facts: &CommandFacts| {
        of_command(facts).into_iter().map(|one| one.code).collect::<Vec<_>>()
    };
    let (body, row) = (law::BODY_CHANGED.code, law::UNREADABLE.code);
    for read in [ended(), redelivered(), in_state(State::Pending), in_state(State::Dead)] {
        says(&hidden(read.clone(), b"body"), &law::UNREADABLE);
        assert_eq!(told(&hidden(read, b"evil")), [body, row]);
    }
    // Whoever takes the digests away, too, leaves who settled it.
    for source in ["relay", "question", "late attempt", "report"] {
        let bare = spoiled(hidden(ended(), b"evil"), |facts| {
            let entry = &mut facts.receipts[0];
            (entry.digest, entry.row_digest) = (None, None);
            entry.receipt.source = source.into();
        });
        let is_told = told(&bare).contains(&row);
        assert_eq!(is_told, source != "report", "{source}");
    }
    let elsewhere = spoiled(hidden(ended(), b"body"), |facts| {
        facts.unreadable.as_mut().unwrap().destination = "elsewhere".into();
    });
    assert!(told(&elsewhere).contains(&law::DESTINATION_DIFFERS.code));
}

/// The story: a hand emptied an ended command and called it erased, and the audit held.
#[test]
fn an_erasure_has_a_person_on_record() {
    let emptied = spoiled(ended(), |facts| {
        facts.outbox.as_mut().unwrap().body.clear();
        facts.erased = true;
    });
    says(&emptied, &law::ERASED);
    assert_eq!(of_command(&spoiled(emptied, |facts| facts.has_erase = true)), []);
}
