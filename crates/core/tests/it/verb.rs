//! What people may do, row by row of the design's section 4.
//!
//! Guarantees: each verb is tried in every state, in doubt and not. Does not: record who did it;
//! stores do.

use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{
    Delivery, Idempotent, Input, Micros, Next, Position, Reason, ReceiptOutcome, State, Terms,
    Token, Transition, transition,
};

use crate::shape::{NOW, TOKEN, after, before, cancel, day, ended, resolve, terms};

/// A sound delivery in that state, sent ten minutes ago where it was sent.
fn at(state: State, in_doubt: bool) -> Delivery {
    let leased = state == State::Sending;
    let sent = in_doubt || matches!(state, State::Sending | State::Published | State::Conflict);
    Delivery {
        state,
        round: 2,
        attempts: 1,
        in_doubt,
        token: TOKEN,
        available_at: (!state.is_parked()).then_some(after(10)),
        lease_until: leased.then_some(after(10)),
        first_sent_at: sent.then_some(before(600)),
        ..Delivery::new(7, NOW)
    }
}

fn act(open: &Delivery, input: Input, terms: &Terms) -> Transition {
    transition(&Position::Open(open.clone()), input, terms, NOW)
}

fn opened(answer: Transition) -> Delivery {
    match answer {
        Transition::Applied { next: Next::Open(open), .. } => open,
        other => panic!("not opened: {other:?}"),
    }
}

fn outcome(answer: Transition) -> ReceiptOutcome {
    match answer {
        Transition::Applied { next: Next::Ended(receipt), .. } => receipt.outcome,
        other => panic!("not ended: {other:?}"),
    }
}

fn refused(answer: Transition) -> Reason {
    match answer {
        Transition::Refused(reason) => reason,
        other => panic!("not refused: {other:?}"),
    }
}

const fn retry(may_act_twice: bool) -> Input {
    Input::Retry { may_act_twice, expires_at: None }
}

fn keyless() -> Terms {
    terms(Idempotent::No, false)
}

const MACHINE: [State; 4] = [State::Pending, State::Sending, State::Asking, State::Published];

#[test]
fn retry_begins_a_new_round_of_what_is_parked() {
    let forever = terms(Idempotent::Forever, false);
    for (state, in_doubt) in
        [(State::Dead, false), (State::Uncertain, true), (State::Conflict, false)]
    {
        let open = at(state, in_doubt);
        let again = opened(act(&open, retry(false), &forever));
        assert_eq!((again.state, again.round, again.attempts), (State::Pending, 3, 0));
        assert_eq!((again.available_at, again.round_since), (Some(NOW), None));
        assert_eq!(again.in_doubt, in_doubt, "the doubt stays");
        assert_eq!(again.first_sent_at, open.first_sent_at, "and the first send");
    }
}

#[test]
fn retry_leaves_what_a_machine_owns() {
    for state in MACHINE {
        let open = at(state, state == State::Asking);
        assert_eq!(refused(act(&open, retry(true), &keyless())), Reason::NotParked);
    }
}

#[test]
fn retry_in_doubt_needs_a_persons_word_where_it_could_act_twice() {
    let uncertain = at(State::Uncertain, true);
    let old = Delivery { first_sent_at: Some(before(100_000)), ..uncertain.clone() };
    let window = terms(day(), false);
    assert_eq!(refused(act(&uncertain, retry(false), &keyless())), Reason::MayActTwice);
    assert_eq!(refused(act(&old, retry(false), &window)), Reason::MayActTwice);
    opened(act(&uncertain, retry(false), &window));
    let again = opened(act(&uncertain, retry(true), &keyless()));
    assert!(again.in_doubt, "the doubt stays");
    let claim =
        Input::Due { owner: "r".into(), expires_at: None, seed: counterfoil_core::domain::Seed(1) };
    let claimed = opened(act(&again, claim, &keyless()));
    assert_eq!(claimed.state, State::Sending, "the permission lets one send through");
    assert!(claimed.first_sent_at.is_some(), "and is spent by it");
}

/// A permission that was given and not used is not taken as a key never sent.
#[test]
fn an_unused_permission_is_no_key_never_sent() {
    let unused = Delivery { first_sent_at: None, ..at(State::Uncertain, true) };
    assert_eq!(refused(act(&unused, retry(false), &terms(day(), false))), Reason::MayActTwice);
    opened(act(&unused, retry(false), &terms(Idempotent::Forever, false)));
}

#[test]
fn retry_and_redeliver_end_at_the_expiry() {
    let expired = |may_act_twice| Input::Retry { may_act_twice, expires_at: Some(NOW) };
    assert_eq!(refused(act(&at(State::Dead, false), expired(true), &keyless())), Reason::Expired);
    let again = Input::Redeliver { may_act_twice: true, expires_at: Some(NOW) };
    let position = Position::Ended(ended(ReceiptOutcome::Completed, None));
    assert_eq!(refused(transition(&position, again, &keyless(), NOW)), Reason::Expired);
}

#[test]
fn completed_is_a_verdict_in_any_open_state() {
    for state in State::ALL {
        let in_doubt = matches!(state, State::Asking | State::Uncertain);
        let done = resolve(Verdict::Completed { result: Some(b"7".to_vec()) });
        let answer = act(&at(state, in_doubt), done, &keyless());
        let Transition::Applied { next: Next::Ended(receipt), .. } = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(receipt.outcome, ReceiptOutcome::Completed);
        assert_eq!(receipt.result.as_deref(), Some(b"7".as_slice()));
        assert_eq!(receipt.source, "operator ann");
        assert_eq!(receipt.evidence.as_deref(), Some("asked by phone"));
    }
}

#[test]
fn rejected_and_not_done_are_verdicts_on_what_is_not_in_flight() {
    let may = [
        (State::Pending, true),
        (State::Published, false),
        (State::Dead, false),
        (State::Uncertain, true),
        (State::Conflict, false),
        (State::Conflict, true),
    ];
    for (state, in_doubt) in may {
        let open = at(state, in_doubt);
        let rejected = act(&open, resolve(Verdict::Rejected), &keyless());
        assert_eq!(outcome(rejected), ReceiptOutcome::Rejected, "{state:?}");
        let again = opened(act(&open, resolve(Verdict::NotDone), &keyless()));
        assert_eq!((again.state, again.round, again.attempts), (State::Pending, 3, 0));
        assert_eq!((again.in_doubt, again.first_sent_at), (false, None), "the doubt is cleared");
    }
    for verdict in [Verdict::Rejected, Verdict::NotDone] {
        for state in [State::Sending, State::Asking] {
            let open = at(state, true);
            let answer = act(&open, resolve(verdict.clone()), &keyless());
            assert_eq!(refused(answer), Reason::InFlight);
        }
        let never = act(&at(State::Pending, false), resolve(verdict.clone()), &keyless());
        assert_eq!(refused(never), Reason::NeverSent);
    }
}

#[test]
fn cancel_takes_what_cannot_have_acted() {
    for state in [State::Pending, State::Dead, State::Conflict] {
        assert_eq!(
            outcome(act(&at(state, false), cancel(), &keyless())),
            ReceiptOutcome::Cancelled
        );
    }
    for state in [State::Pending, State::Uncertain, State::Conflict] {
        assert_eq!(refused(act(&at(state, true), cancel(), &keyless())), Reason::InDoubt);
    }
    for state in [State::Sending, State::Asking] {
        assert_eq!(refused(act(&at(state, true), cancel(), &keyless())), Reason::InFlight);
    }
    let published = act(&at(State::Published, false), cancel(), &keyless());
    assert_eq!(refused(published), Reason::Published);
}

#[test]
fn redeliver_opens_an_ended_command_again() {
    let redeliver = |may_act_twice| Input::Redeliver { may_act_twice, expires_at: None };
    let sent = |secs| Position::Ended(ended(ReceiptOutcome::Completed, Some(before(secs))));
    let window = terms(day(), false);
    let again = opened(transition(&sent(600), redeliver(false), &window, NOW));
    assert_eq!((again.state, again.round, again.attempts), (State::Pending, 3, 0));
    let first = Some(before(600));
    assert_eq!((again.in_doubt, again.first_sent_at), (false, first), "the window goes on");
    assert_eq!(again.token, TOKEN, "the token goes on from the receipt's");
    assert!(again.token.next(Micros::new(0)) > TOKEN);
    for (position, terms) in [(sent(100_000), &window), (sent(600), &keyless())] {
        let plain = transition(&position, redeliver(false), terms, NOW);
        assert_eq!(refused(plain), Reason::MayActTwice);
        let again = opened(transition(&position, redeliver(true), terms, NOW));
        assert_eq!(again.first_sent_at, None, "a person's word begins a window anew");
    }
    let expired = Position::Ended(ended(ReceiptOutcome::Expired, None));
    let answer = transition(&expired, redeliver(true), &window, NOW);
    assert_eq!(refused(answer), Reason::Expired);
    for state in State::ALL {
        let open = at(state, matches!(state, State::Asking | State::Uncertain));
        assert_eq!(refused(act(&open, redeliver(true), &window)), Reason::NotEnded);
    }
}

#[test]
fn verbs_on_what_has_ended_are_refused() {
    let position = Position::Ended(ended(ReceiptOutcome::Completed, None));
    let verbs = [retry(true), cancel(), resolve(Verdict::NotDone), resolve(Verdict::Rejected)];
    for verb in verbs {
        assert_eq!(refused(transition(&position, verb, &keyless(), NOW)), Reason::Ended);
    }
}

#[test]
fn after_a_restore_every_open_command_is_in_doubt() {
    let backup = before(3600);
    for state in State::ALL {
        let in_doubt = matches!(state, State::Asking | State::Uncertain);
        let open = at(state, in_doubt);
        let doubted = opened(act(&open, Input::Restored { at: backup }, &keyless()));
        assert!(doubted.in_doubt);
        assert_eq!(doubted.first_sent_at, Some(backup), "the earlier of its own and the backup's");
        let expected = if state == State::Dead { State::Uncertain } else { state };
        assert_eq!(doubted.state, expected);
        assert!(doubted.last_lease_until >= Some(NOW), "what is on its way may still arrive");
        let late = opened(act(&open, Input::Restored { at: after(5) }, &keyless()));
        let own = open.first_sent_at.unwrap_or(after(5));
        assert_eq!(late.first_sent_at, Some(own));
    }
    let restored = Input::Restored { at: backup };
    let position = Position::Ended(ended(ReceiptOutcome::Completed, None));
    let answer = transition(&position, restored, &keyless(), NOW);
    assert_eq!(answer, Transition::Ignored { reason: Reason::Ended, attempted: None });
}

#[test]
fn an_earlier_rounds_report_changes_nothing() {
    use crate::shape::reported;
    let same = |token| reported(ReceiptOutcome::Completed, token, true);
    let open = at(State::Sending, false);
    let ignored = Transition::Ignored { reason: Reason::Repeated, attempted: None };
    assert_eq!(act(&open, same(None), &keyless()), ignored);
    assert_eq!(outcome(act(&open, same(Some(TOKEN)), &keyless())), ReceiptOutcome::Completed);
    let rejected = Position::Ended(ended(ReceiptOutcome::Rejected, None));
    assert_eq!(transition(&rejected, same(None), &keyless(), NOW), ignored);
    let other = reported(ReceiptOutcome::Completed, None, false);
    let answer = transition(&rejected, other, &keyless(), NOW);
    assert!(matches!(answer, Transition::Applied { next: Next::Contradicted(_), .. }));
}

#[test]
fn a_token_that_was_never_given_fences_nothing_in() {
    use crate::shape::reported;
    let fresh = Delivery::new(7, NOW);
    let fenced = reported(ReceiptOutcome::Completed, Some(Token::NONE), false);
    assert_eq!(refused(act(&fresh, fenced, &keyless())), Reason::StaleToken);
}
