//! Each law of a command: a sound sample is silent, a spoiled one says exactly its code.
//!
//! Guarantees: every law of `of_command` has its sample. Does not: read a store.

use super::*;
use crate::domain::Digest;
use crate::domain::laws::{AttemptFacts, ContradictionFacts, ReceiptFacts};
use crate::domain::{
    Command, CommandId, Destination, Kind, Micros, OutboxRow, Receipt, ReceiptOutcome, Stream,
    Token,
};

mod columns;
mod unreadable;

const T: Micros = Micros::new(1_767_225_600_000_000);
const LEASE: Micros = Micros::new(1_767_225_630_000_000);

fn row() -> OutboxRow {
    let command = Command::bytes("a", "shop", "order.paid", "body").unwrap();
    OutboxRow {
        n: 7,
        command_id: CommandId::new("a").unwrap(),
        stream: None,
        seq: None,
        idx: None,
        destination: Destination::new("shop").unwrap(),
        kind: Kind::new("order.paid").unwrap(),
        ordering_key: None,
        body: command.body,
        content_type: command.content_type,
        headers: None,
        core_digest: None,
        not_before: None,
        expires_at: None,
        recorded_at: T,
    }
}

fn digests() -> (Option<Digest>, Option<Digest>) {
    let body = Digest::of(b"body");
    (Some(body), Some(row().row_digest(body)))
}

/// An open command whose attempt ended unknown.
fn open() -> CommandFacts {
    let (digest, row_digest) = digests();
    let delivery = Delivery {
        in_doubt: true,
        attempts: 1,
        round_since: Some(T),
        first_sent_at: Some(T),
        token: Token::new(T.get()),
        last_lease_until: Some(LEASE),
        last_outcome: Some("unknown: reset".into()),
        ..Delivery::new(7, T)
    };
    CommandFacts {
        n: 7,
        id: "a".into(),
        outbox: Some(row()),
        has_outbox: true,
        delivery: Some(DeliveryFacts {
            delivery,
            state_name: "pending".into(),
            destination: "shop".into(),
            ordering_key: None,
            expires_at: None,
            turn: None,
            digest,
            row_digest,
        }),
        attempts: vec![attempt("send", "unknown")],
        ..CommandFacts::default()
    }
}

fn attempt(purpose: &str, outcome: &str) -> AttemptFacts {
    AttemptFacts {
        arrival: 1,
        round: 1,
        purpose: purpose.into(),
        outcome: outcome.into(),
        token: T.get(),
        reason: Some("reset".into()),
        ended_at: T,
        ..AttemptFacts::default()
    }
}

fn receipt(round: u32) -> ReceiptFacts {
    let (digest, row_digest) = digests();
    let receipt = Receipt {
        n: 7,
        round,
        outcome: ReceiptOutcome::Completed,
        result: None,
        evidence: None,
        source: "relay".into(),
        attempts: 1,
        token: Token::new(T.get()),
        first_sent_at: Some(T),
        recorded_at: T,
        key_seq: None,
    };
    ReceiptFacts { arrival: 0, receipt, destination: "shop".into(), digest, row_digest }
}

fn ended() -> CommandFacts {
    CommandFacts { delivery: None, receipts: vec![receipt(1)], ..open() }
}

fn in_state(state: State) -> CommandFacts {
    spoiled(open(), |facts| {
        let open = facts.delivery.as_mut().unwrap();
        open.state_name = state.name().into();
        open.delivery.state = state;
        if state.is_parked() {
            open.delivery.available_at = None;
        }
        match state {
            State::Sending | State::Asking => {
                open.delivery.available_at = Some(LEASE);
                open.delivery.lease_until = Some(LEASE);
                open.delivery.lease_owner = Some("relay-1".into());
            }
            State::Published => {
                open.delivery.in_doubt = false;
                open.delivery.last_outcome = Some("accepted: 202".into());
                facts.attempts.clear();
            }
            State::Dead => {
                open.delivery.in_doubt = false;
                open.delivery.first_sent_at = None;
                open.delivery.last_outcome = Some("not_sent: reset".into());
                facts.attempts = vec![attempt("send", "not_sent")];
            }
            State::Conflict => {
                open.delivery.in_doubt = false;
                open.delivery.last_outcome = Some("conflict: reset".into());
                facts.attempts = vec![attempt("send", "conflict")];
            }
            State::Pending | State::Uncertain => {}
        }
        match state {
            State::Asking => open.delivery.asks = 1,
            State::Sending => open.delivery.attempts = 2,
            _ => {}
        }
    })
}

/// Redelivered after one receipt, and not claimed since.
fn redelivered() -> CommandFacts {
    spoiled(ended(), |facts| {
        let open = open().delivery.unwrap();
        let again = Delivery { round: 2, token: Token::new(T.get()), ..Delivery::new(7, T) };
        facts.delivery =
            Some(DeliveryFacts { delivery: again, digest: None, row_digest: None, ..open });
        facts.reopened = vec!["completed".into()];
    })
}

fn spoiled(mut facts: CommandFacts, spoil: impl Fn(&mut CommandFacts)) -> CommandFacts {
    spoil(&mut facts);
    facts
}

fn spoiled_delivery(spoil: impl Fn(&mut DeliveryFacts)) -> CommandFacts {
    spoiled(open(), |facts| spoil(facts.delivery.as_mut().unwrap()))
}

#[test]
fn a_number_is_one_or_larger_and_an_id_is_not_empty() {
    for n in [0, -1, i64::MIN] {
        says(&spoiled(open(), |facts| facts.n = n), &law::NUMBER);
    }
    let nameless = |facts: &mut CommandFacts| {
        (facts.id, facts.outbox) = (String::new(), None);
        let open = facts.delivery.as_mut().unwrap();
        (open.digest, open.row_digest) = (None, None);
    };
    says(&spoiled(open(), nameless), &law::NUMBER);
    says(&spoiled(open(), |facts| facts.attempts[0].arrival = 0), &law::NUMBER);
}

fn says(facts: &CommandFacts, law: &Law) {
    let violations = of_command(facts);
    let codes: Vec<_> = violations.iter().map(|violation| violation.code).collect();
    assert_eq!(codes, [law.code], "{violations:#?}");
    assert_eq!(violations[0].ids, [facts.id.as_str()]);
    assert!(violations[0].text.contains(law.remedy), "{}", violations[0].text);
}

/// Whatever else such a sample breaks.
fn is_silent(facts: &CommandFacts, law: &Law) {
    let violations = of_command(facts);
    assert!(violations.iter().all(|violation| violation.code != law.code), "{violations:#?}");
}

#[test]
fn what_is_sound_is_silent() {
    let fresh = spoiled(open(), |facts| {
        let open = facts.delivery.as_mut().unwrap();
        *open = DeliveryFacts {
            delivery: Delivery::new(7, T),
            digest: None,
            row_digest: None,
            ..open.clone()
        };
        facts.attempts.clear();
    });
    let redelivered = redelivered();
    let retried = spoiled(ended(), |facts| {
        facts.receipts = vec![receipt(2)];
        facts.begun = 1;
    });
    let unread = spoiled(fresh.clone(), |facts| facts.outbox = None);
    let archived = CommandFacts { n: 7, id: "a".into(), archived: true, ..CommandFacts::default() };
    for facts in [fresh, open(), ended(), redelivered, retried, unread, archived] {
        assert_eq!(of_command(&facts), [], "{facts:#?}");
    }
    for state in State::ALL {
        assert_eq!(of_command(&in_state(state)), [], "{state:?}");
    }
}

#[test]
fn orphans_are_told() {
    let orphan = |facts: CommandFacts| CommandFacts {
        outbox: None,
        has_outbox: false,
        attempts: Vec::new(),
        id: "n=7".into(),
        ..facts
    };
    says(&orphan(open()), &law::ORPHAN_DELIVERY);
    says(&orphan(ended()), &law::ORPHAN_RECEIPT);
    let attempts = vec![attempt("send", "not_sent")];
    let alone = CommandFacts { n: 7, attempts, ..CommandFacts::default() };
    says(&orphan(alone.clone()).with_attempts(alone.attempts), &law::ORPHAN_ATTEMPT);
}

impl CommandFacts {
    fn with_attempts(self, attempts: Vec<AttemptFacts>) -> Self {
        Self { attempts, ..self }
    }
}

#[test]
fn each_command_stands_in_one_place() {
    says(&spoiled(open(), |facts| facts.delivery = None), &law::LOST);
    says(&spoiled(open(), |facts| facts.receipts = vec![receipt(1)]), &law::OPEN_AND_ENDED);
    says(&spoiled(ended(), |facts| facts.archived = true), &law::ARCHIVED_AND_HERE);
}

#[test]
fn rounds_begin_by_a_receipt_or_a_person() {
    says(&spoiled(ended(), |facts| facts.receipts.push(receipt(1))), &law::ROUNDS);
    says(&spoiled(ended(), |facts| facts.receipts = vec![receipt(2)]), &law::ROUNDS);
    says(&spoiled_delivery(|open| open.delivery.round = 2), &law::ROUNDS);
    says(&spoiled_delivery(|open| open.delivery.round = 0), &law::ROUNDS);
    let redelivered = spoiled(redelivered(), |facts| {
        facts.receipts = vec![receipt(2)];
        facts.delivery.as_mut().unwrap().delivery.round = 3;
        facts.begun = 1;
    });
    assert_eq!(of_command(&redelivered), [], "retried, ended, redelivered");
    says(&spoiled(open(), |facts| facts.begun = 1), &law::ROUNDS);
    let lost = spoiled(redelivered, |facts| {
        facts.receipts.clear();
        facts.attempts.clear();
    });
    says(&lost, &law::ROUNDS);
}

#[test]
fn what_was_sent_is_what_stands() {
    let body = |facts: &mut CommandFacts| facts.outbox.as_mut().unwrap().body = b"other".to_vec();
    let kind = |facts: &mut CommandFacts| {
        facts.outbox.as_mut().unwrap().kind = Kind::new("order.lost").unwrap();
    };
    for sample in [open(), ended()] {
        says(&spoiled(sample.clone(), body), &law::BODY_CHANGED);
        says(&spoiled(sample.clone(), kind), &law::ROW_CHANGED);
        let erased = spoiled(spoiled(sample, body), |facts| facts.erased = true);
        says(&erased, &law::ERASED);
    }
}

/// The story: a receipt's digests were set to NULL, then its command was changed, and the audit
/// held.
#[test]
fn a_receipt_without_digests_hides_no_change() {
    for spoil in [
        |facts: &mut CommandFacts| facts.receipts[0].digest = None,
        |facts: &mut CommandFacts| facts.receipts[0].row_digest = None,
    ] {
        says(&spoiled(ended(), spoil), &law::DIGEST_MISSING);
        let reported = spoiled(spoiled(ended(), spoil), |facts| {
            facts.receipts[0].receipt.source = "report".into();
        });
        assert_eq!(of_command(&reported), []);
    }
}

/// The story: a command had been retried; the digests of its delivery were set to NULL, then its
/// body was changed, and the audit held, since the new round had no attempt yet.
#[test]
fn a_delivery_without_digests_hides_no_change_in_a_later_round() {
    let bare = |facts: &mut CommandFacts| {
        let open = facts.delivery.as_mut().unwrap();
        (open.digest, open.row_digest) = (None, None);
        facts.outbox.as_mut().unwrap().body = b"other".to_vec();
    };
    let retried = spoiled(open(), |facts| {
        facts.begun = 1;
        facts.delivery.as_mut().unwrap().delivery = Delivery {
            round: 2,
            token: Token::new(T.get()),
            in_doubt: true,
            first_sent_at: Some(T),
            last_lease_until: Some(LEASE),
            last_outcome: Some("unknown: reset".into()),
            ..Delivery::new(7, T)
        };
    });
    assert_eq!(of_command(&retried), []);
    says(&spoiled(retried, bare), &law::DIGEST_MISSING);
    // Here the receipt of the round before tells.
    says(&spoiled(redelivered(), bare), &law::BODY_CHANGED);
}

/// The story: the newest event of a stream was deleted. No gap is left, and no event counts
/// commands that are not there; but its commands stand without a decision.
#[test]
fn a_command_of_a_decision_has_its_event() {
    let place = |facts: &mut CommandFacts, seq, idx| {
        let row = facts.outbox.as_mut().unwrap();
        row.stream = Some(Stream::new("o-1").unwrap());
        row.command_id = CommandId::new("o-1:3:0").unwrap();
        (row.seq, row.idx) = (seq, idx);
        let open = facts.delivery.as_mut().unwrap();
        open.row_digest = Some(row.row_digest(Digest::of(b"body")));
    };
    let decided = spoiled(open(), |facts| place(facts, Some(3), Some(0)));
    says(&decided, &law::EVENT_MISSING);
    let issued = spoiled(decided, |facts| facts.has_event = true);
    assert_eq!(of_command(&issued), []);
    says(&spoiled(issued.clone(), |facts| place(facts, Some(4), Some(0))), &law::PLACE_IN_DECISION);
    says(&spoiled(issued, |facts| place(facts, Some(3), None)), &law::PLACE_IN_DECISION);
}

#[test]
fn a_contradiction_is_told() {
    let contradicted = spoiled(ended(), |facts| facts.contradictions = vec![said(5)]);
    says(&contradicted, &law::CONTRADICTED);
    let text = &of_command(&contradicted)[0].text;
    assert!(text.contains("round 1 a report said rejected"), "{text}");
}

fn said(at: i64) -> ContradictionFacts {
    ContradictionFacts {
        round: 1,
        outcome: "rejected".into(),
        recorded_at: Micros::new(at),
        ..ContradictionFacts::default()
    }
}

/// It reddened the audit for ever, whatever a person found out.
#[test]
fn a_contradiction_is_answered_by_whoever_looked_into_it_afterwards() {
    let looked = |at, last| {
        spoiled(ended(), |facts| {
            facts.contradictions = vec![said(5), said(last)];
            facts.acknowledged_at = Some(Micros::new(at));
        })
    };
    assert_eq!(of_command(&looked(9, 9)), []);
    assert_eq!(looked(9, 9).acknowledged(), (2, 0));
    let newer = looked(9, 10);
    says(&newer, &law::CONTRADICTED);
    assert_eq!((of_command(&newer).len(), newer.acknowledged()), (1, (1, 1)));
    assert_eq!(of_command(&looked(4, 5)).len(), 2, "an act from before says nothing about it");
}

#[test]
fn destinations_agree() {
    says(&spoiled_delivery(|open| open.destination = "bank".into()), &law::DESTINATION_DIFFERS);
    let receipt = |facts: &mut CommandFacts| facts.receipts[0].destination = "bank".into();
    says(&spoiled(ended(), receipt), &law::DESTINATION_DIFFERS);
}

#[test]
fn doubt_stands_where_it_must() {
    let uncertain = spoiled(in_state(State::Uncertain), |facts| {
        facts.delivery.as_mut().unwrap().delivery.in_doubt = false;
        facts.attempts.clear();
    });
    says(&uncertain, &law::UNCERTAIN_WITHOUT_DOUBT);
    let dead = spoiled(in_state(State::Dead), |facts| {
        facts.delivery.as_mut().unwrap().delivery.in_doubt = true;
    });
    says(&dead, &law::DEAD_IN_DOUBT);
}

#[test]
fn a_doubt_is_forgotten_only_by_evidence() {
    let forgot = |attempts: Vec<AttemptFacts>| {
        let facts = spoiled_delivery(|open| open.delivery.in_doubt = false);
        facts.with_attempts(attempts)
    };
    for doubt in
        [attempt("send", "unknown"), attempt("send", "expired"), attempt("receipt", "unknown")]
    {
        says(&forgot(vec![doubt.clone()]), &law::DOUBT_FORGOTTEN);
        let answered = forgot(vec![doubt.clone(), attempt("ask", "not_there")]);
        is_silent(&answered, &law::DOUBT_FORGOTTEN);
        for word in ["not_believed", "unclear", "in_progress"] {
            says(&forgot(vec![doubt.clone(), attempt("ask", word)]), &law::DOUBT_FORGOTTEN);
        }
        says(&forgot(vec![attempt("ask", "not_there"), doubt.clone()]), &law::DOUBT_FORGOTTEN);
        let by_hand = spoiled(forgot(vec![doubt]), |facts| facts.cleared_at = vec![T]);
        is_silent(&by_hand, &law::DOUBT_FORGOTTEN);
        let retried = spoiled(by_hand, |facts| {
            facts.cleared_at.clear();
            facts.begun = 1;
            facts.delivery.as_mut().unwrap().delivery.round = 2;
        });
        says(&retried, &law::DOUBT_FORGOTTEN);
    }
    let harmless = [("send", "not_sent"), ("late", "unknown"), ("ask", "expired")];
    let harmless = harmless.map(|(purpose, outcome)| attempt(purpose, outcome));
    is_silent(&forgot(harmless.to_vec()), &law::DOUBT_FORGOTTEN);
}

#[test]
fn it_is_always_somebodys_turn() {
    for state in [State::Pending, State::Sending, State::Asking, State::Published] {
        let stuck = spoiled(in_state(state), |facts| {
            facts.delivery.as_mut().unwrap().delivery.available_at = None;
        });
        says(&stuck, &law::NOBODYS_TURN);
        for never in [9_000_000_000_000_000_000, Micros::LATEST.get() + 1, 7] {
            let stuck = spoiled(in_state(state), |facts| {
                facts.delivery.as_mut().unwrap().delivery.available_at = Some(Micros::new(never));
            });
            let told = of_command(&stuck);
            assert_eq!(told.first().map(|it| it.code), Some(law::NOBODYS_TURN.code), "{never}");
        }
    }
    for state in [State::Dead, State::Uncertain, State::Conflict] {
        let due = spoiled(in_state(state), |facts| {
            facts.delivery.as_mut().unwrap().delivery.available_at = Some(T);
        });
        says(&due, &law::PARKED_BUT_DUE);
    }
}

#[test]
fn states_are_known_and_what_is_under_way_can_be_read() {
    says(&spoiled_delivery(|open| open.state_name = "lost".into()), &law::STRANGE_STATE);
    for state in [State::Sending, State::Asking, State::Published] {
        says(&spoiled(in_state(state), |facts| facts.outbox = None), &law::UNREADABLE);
    }
}

/// It was called lost, though it has its turn to come, and parks itself then.
#[test]
fn what_cannot_be_read_may_wait_in_its_lane() {
    let waits = |place| {
        spoiled(in_state(State::Pending), |facts| {
            facts.outbox = None;
            let open = facts.delivery.as_mut().unwrap();
            (open.digest, open.row_digest) = (None, None);
            let delivery = &mut open.delivery;
            delivery.key_seq = place;
            delivery.available_at = None;
        })
    };
    assert_eq!(of_command(&waits(Some(2))), []);
    says(&waits(None), &law::NOBODYS_TURN);
}
