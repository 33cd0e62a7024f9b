//! When a breaker opens, probes and closes.
//!
//! Guarantees: each rule of `docs/breaker.md` about attempts has a case. Does not: run a relay.

use super::*;

const T: Micros = Micros::EARLIEST;

fn at(secs: i64) -> Micros {
    T.plus(Span::from_secs(secs))
}

fn failing(commands: &[i64]) -> Breaker {
    let mut breaker = Breaker::default();
    for n in commands {
        breaker.ended(*n, Health::Fails, T);
    }
    breaker
}

#[test]
fn it_opens_on_five_failures_of_three_commands() {
    assert!(!failing(&[1, 2, 3, 4]).is_open());
    assert!(!failing(&[1, 1, 1, 1, 1, 1, 1]).is_open(), "one poison command");
    assert!(!failing(&[1, 2, 1, 2, 1, 2]).is_open(), "two commands");
    assert!(!failing(&[1, 2, 2, 2, 2, 2, 3]).is_open(), "three, but not among the last five");
    assert!(failing(&[1, 2, 1, 2, 3]).is_open());
    for between in [Health::Works, Health::Busy, Health::Nothing] {
        let mut breaker = failing(&[1, 2, 3, 4]);
        breaker.ended(5, between, T);
        breaker.ended(6, Health::Fails, T);
        assert!(!breaker.is_open(), "the last five did not all fail: {between:?}");
    }
    let mut breaker = failing(&[1, 2, 3, 4]);
    breaker.ended(1, Health::Misconfigured, T);
    assert!(breaker.is_open(), "a misconfigured answer is a failure too");
}

#[test]
fn it_opens_on_misconfigured_answers_to_two_commands() {
    let mut breaker = Breaker::default();
    assert!(breaker.ended(1, Health::Misconfigured, T).burns, "the first burns an attempt");
    assert!(breaker.ended(1, Health::Misconfigured, T).burns);
    assert!(!breaker.is_open());
    breaker.ended(7, Health::Busy, T);
    assert!(breaker.ended(2, Health::Misconfigured, T).burns);
    assert!(breaker.is_open(), "no success was between");
    assert!(!breaker.ended(3, Health::Misconfigured, T).burns, "while open it burns none");
    assert!(breaker.ended(4, Health::Fails, T).burns, "what was under way burns its attempt");
    let mut breaker = Breaker::default();
    breaker.ended(1, Health::Misconfigured, T);
    breaker.ended(3, Health::Works, T);
    breaker.ended(2, Health::Misconfigured, T);
    assert!(!breaker.is_open(), "a success was between");
}

#[test]
fn it_probes_with_one_command_and_doubles_its_pause() {
    let mut breaker = failing(&[1, 2, 3, 4, 5]);
    assert_eq!(breaker.allows(64, T), 0);
    let mut now = T;
    let mut pauses = [1, 2, 4, 8, 16, 30, 30, 30].map(Span::from_secs).into_iter().peekable();
    while let Some(pause) = pauses.next() {
        let Some(next) = pauses.peek() else { break };
        assert_eq!(breaker.probes_at(), Some(now.plus(pause)));
        now = now.plus(pause);
        assert_eq!(breaker.allows(64, now), 1);
        breaker.claimed(9, now);
        assert_eq!(breaker.allows(64, now), 0, "one probe at a time");
        assert!(breaker.ended(7, Health::Fails, now).burns, "an older attempt is no probe");
        let ended = breaker.ended(9, Health::Fails, now);
        assert_eq!(ended, Verdict { burns: false, wait: *next }, "a probe burns no attempt");
    }
    now = now.plus(Span::from_secs(30));
    breaker.claimed(9, now);
    assert!(breaker.ended(9, Health::Works, now).burns);
    assert_eq!(breaker.allows(64, now), 64);
}

#[test]
fn a_probe_that_says_nothing_is_followed_by_another_at_once() {
    let mut breaker = failing(&[1, 2, 3, 4, 5]);
    breaker.claimed(1, at(1));
    breaker.withdrawn(1, at(1));
    assert_eq!(breaker.allows(64, at(1)), 1);
    breaker.claimed(2, at(1));
    breaker.ended(2, Health::Nothing, at(1));
    assert_eq!(breaker.allows(64, at(1)), 1);
}

#[test]
fn a_probe_that_finds_it_busy_waits_as_long_again() {
    let mut breaker = failing(&[1, 2, 3, 4, 5]);
    breaker.claimed(1, at(1));
    assert!(!breaker.ended(1, Health::Busy, at(1)).burns);
    assert_eq!(breaker.probes_at(), Some(at(2)), "not doubled");
    assert!(breaker.is_open());
}

#[test]
fn a_claim_that_was_under_way_when_it_opened_is_no_probe() {
    let mut breaker = failing(&[1, 2, 3, 4, 5]);
    breaker.claimed(6, T);
    assert!(!breaker.is_probe(6));
    assert_eq!(breaker.probes_at(), Some(at(1)));
}

/// A handler that never ends must not keep its destination for ever.
#[test]
fn a_probe_that_does_not_end_is_joined_by_another() {
    let mut breaker = failing(&[1, 2, 3, 4, 5]);
    breaker.claimed(1, at(1));
    assert_eq!((breaker.allows(64, at(30)), breaker.allows(64, at(31))), (0, 1));
    breaker.claimed(2, at(31));
    assert_eq!(breaker.allows(64, at(31)), 0);
    assert!(breaker.ended(1, Health::Fails, at(32)).burns, "it is the probe no more");
    breaker.ended(2, Health::Works, at(33));
    assert!(!breaker.is_open());
}

#[test]
fn a_success_of_an_older_attempt_closes_it() {
    let mut breaker = failing(&[1, 2, 3, 4, 5]);
    breaker.ended(6, Health::Works, at(0));
    assert!(!breaker.is_open());
}
