//! What the columns of one command say about each other: each spoiled once.
//!
//! Guarantees: each law of `delivery` and `receipt` has its sample. Does not: repeat the others.

use super::*;
use crate::domain::laws::RestoreFacts;

type Spoil = fn(&mut CommandFacts);

fn the(facts: &mut CommandFacts) -> &mut DeliveryFacts {
    facts.delivery.as_mut().unwrap()
}

/// One spoiled column each; what it was is sound, see `what_is_sound_is_silent`.
#[test]
fn the_columns_of_a_delivery_agree() {
    let spoils: &[(State, Spoil, Law)] = &[
        (State::Pending, |it| the(it).ordering_key = Some("A".into()), law::COPY_DIFFERS),
        (State::Pending, |it| the(it).expires_at = Some(T), law::COPY_DIFFERS),
        (State::Pending, |it| the(it).turn = Some(false), law::TURN),
        (State::Uncertain, |it| the(it).turn = Some(true), law::TURN),
        (State::Pending, |it| the(it).delivery.lease_until = Some(LEASE), law::LEASE),
        (State::Pending, |it| the(it).delivery.lease_owner = Some("x".into()), law::LEASE),
        (State::Sending, |it| the(it).delivery.lease_owner = None, law::LEASE),
        (State::Sending, |it| the(it).delivery.available_at = Some(T), law::LEASE),
        (State::Sending, |it| the(it).delivery.last_lease_until = Some(T), law::LEASE),
        (State::Conflict, |it| the(it).delivery.token = Token::new(T.get() + 1), law::TOKEN_ORDER),
        (State::Pending, |it| the(it).delivery.attempts = 2, law::COUNTS),
        (State::Pending, |it| the(it).delivery.asks = 1, law::COUNTS),
        (State::Asking, |it| the(it).delivery.asks = 0, law::COUNTS),
        (State::Pending, |it| the(it).delivery.last_lease_until = None, law::COUNTS),
        (State::Pending, |it| the(it).delivery.last_outcome = None, law::STATE_UNFOUNDED),
        (State::Published, |it| the(it).delivery.last_outcome = None, law::STATE_UNFOUNDED),
        (State::Pending, |it| the(it).delivery.first_sent_at = None, law::FIRST_SEND),
        (State::Published, |it| the(it).delivery.first_sent_at = None, law::FIRST_SEND),
        (State::Dead, |it| the(it).delivery.first_sent_at = Some(T), law::FIRST_SEND),
        (State::Pending, |it| the(it).digest = None, law::DIGEST_MISSING),
        (State::Pending, |it| it.attempts[0].purpose = "x".into(), law::ATTEMPT),
    ];
    for (state, spoil, law) in spoils {
        let violations = of_command(&spoiled(in_state(*state), spoil));
        let codes: Vec<_> = violations.iter().map(|violation| violation.code).collect();
        assert!(codes.contains(&law.code), "{state:?} {}: {violations:#?}", law.says);
    }
}

/// A restore dates a doubt of what was never sent; a retry, and an earlier round, may have one.
#[test]
fn a_doubt_has_a_reason() {
    let doubted = spoiled(open(), |facts| facts.attempts = vec![attempt("send", "not_sent")]);
    let told = |facts: &CommandFacts| {
        of_command(facts).iter().any(|one| one.code == law::DOUBT_UNFOUNDED.code)
    };
    assert!(told(&doubted));
    let restore = RestoreFacts { taken_at: T, recorded_at: T };
    assert!(!told(&spoiled(doubted.clone(), |facts| facts.restores = vec![restore])));
    assert!(!told(&spoiled(doubted, |facts| facts.begun = 1)));
}

#[test]
fn what_was_never_claimed_carries_nothing_of_an_attempt() {
    let fresh = spoiled(open(), |facts| {
        let open = facts.delivery.as_mut().unwrap();
        open.delivery = Delivery::new(7, T);
        (open.digest, open.row_digest) = (None, None);
        facts.attempts.clear();
    });
    assert_eq!(of_command(&fresh), []);
    let spoils: [Spoil; 4] = [
        |it| the(it).delivery.available_at = Some(LEASE),
        |it| the(it).delivery.first_sent_at = Some(T),
        |it| the(it).delivery.last_lease_until = Some(T),
        |it| it.outbox.as_mut().unwrap().not_before = Some(LEASE),
    ];
    for spoil in spoils {
        let violations = of_command(&spoiled(fresh.clone(), spoil));
        let told = violations.iter().any(|one| one.code == law::NEVER_CLAIMED.code);
        assert!(told, "{violations:#?}");
    }
}

#[test]
fn a_receipt_says_what_it_can_know() {
    let spoils: &[(Spoil, Law)] = &[
        (|it| it.receipts[0].receipt.outcome = ReceiptOutcome::Expired, law::SOURCE),
        (|it| it.receipts[0].receipt.source = "sweep".into(), law::SOURCE),
        (|it| it.receipts[0].receipt.token = Token::new(1), law::TOKEN_ORDER),
        (|it| it.receipts[0].receipt.attempts = 3, law::COUNTS),
        (|it| it.receipts[0].receipt.first_sent_at = None, law::FIRST_SEND),
        (|it| it.receipts[0].receipt.first_sent_at = Some(LEASE), law::FIRST_SEND),
        (|it| it.reopened = vec!["completed".into()], law::REDELIVERED),
        (
            |it| {
                it.receipts[0].receipt.source = "late attempt".into();
                it.receipts[0].digest = None;
            },
            law::DIGEST_MISSING,
        ),
        (|it| it.strange_outcomes = vec!["done".into()], law::STRANGE_OUTCOME),
        (|it| it.attempts[0].round = 2, law::ATTEMPT),
    ];
    for (spoil, law) in spoils {
        let violations = of_command(&spoiled(ended(), spoil));
        assert!(violations.iter().any(|one| one.code == law.code), "{}: {violations:#?}", law.says);
    }
    let other = spoiled(redelivered(), |facts| facts.reopened = vec!["rejected".into()]);
    says(&other, &law::REDELIVERED);
}
