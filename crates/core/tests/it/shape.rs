//! Every shape of position, input and contract that the tests go through.
//!
//! Guarantees: positions are sound, as the machine itself leaves them. Does not: hold every
//! number; numbers are chosen at and beside their limits.

use counterfoil_core::domain::transition::{Report, Verdict};
use counterfoil_core::domain::{
    Answer, Asking, Completion, Contract, Delivery, Idempotent, Input, Judge, Micros, OnRefusal,
    Outcome, Position, Receipt, ReceiptOutcome, ResultBody, Seed, Span, State, Terms, Token,
};

/// When everything here happens.
pub(crate) const NOW: Micros = Micros::new(1_767_225_600_000_000);
/// The token of every position.
pub(crate) const TOKEN: Token = Token::new(1_767_225_000_000_000);
/// Another token.
pub(crate) const STALE: Token = Token::new(1_767_224_000_000_000);
pub(crate) const MAX_ATTEMPTS: u32 = 3;
pub(crate) const MAX_ASKS: u32 = 2;

pub(crate) fn before(secs: i64) -> Micros {
    Micros::new(NOW.get() - secs * 1_000_000)
}

pub(crate) fn after(secs: i64) -> Micros {
    NOW.plus(Span::from_secs(secs))
}

/// Terms with small bounds.
pub(crate) fn terms(idempotent: Idempotent, askable: bool) -> Terms {
    let mut terms = Terms::new(Contract::new(idempotent));
    terms.contract.ask = askable.then(asking);
    terms.pace.max_attempts = MAX_ATTEMPTS;
    terms
}

/// Few questions, each after a minute of quiet.
pub(crate) fn asking() -> Asking {
    Asking { max_asks: MAX_ASKS, ..Asking::new(Span::from_secs(60)) }
}

pub(crate) fn day() -> Idempotent {
    Idempotent::Window { key_ttl: Span::from_secs(86_400) }
}

/// Every shape of contract.
pub(crate) fn all_terms() -> Vec<Terms> {
    let mut all = Vec::new();
    for idempotent in [Idempotent::Forever, day(), Idempotent::No] {
        for askable in [false, true] {
            for completion in [Completion::Response, Completion::Receipt, Completion::Accepted] {
                for on_refusal in [OnRefusal::Park, OnRefusal::Reject, OnRefusal::ByAsker] {
                    let mut terms = terms(idempotent.clone(), askable);
                    terms.contract.completion = completion;
                    terms.contract.on_refusal = on_refusal;
                    all.push(terms);
                }
            }
        }
    }
    all
}

/// Whether the machine may leave a delivery so.
pub(crate) fn unsound(open: &Delivery) -> Option<&'static str> {
    let leased = open.lease_until.is_some();
    match open.state {
        State::Uncertain if !open.in_doubt => Some("uncertain without a doubt"),
        State::Dead if open.in_doubt => Some("dead in doubt"),
        State::Asking if !open.in_doubt => Some("asking without a doubt"),
        State::Sending if !leased => Some("sending without a lease"),
        State::Sending if open.first_sent_at.is_none() => Some("sending, but never sent"),
        State::Sending if open.attempts == 0 => Some("sending without an attempt"),
        state if state.is_parked() && open.available_at.is_some() => Some("parked, but due"),
        state if !state.is_parked() && open.available_at.is_none() => Some("nobody's turn"),
        State::Sending | State::Asking => None,
        _ if leased || open.lease_owner.is_some() => Some("a lease that nobody needs"),
        _ => None,
    }
}

/// Every shape of open delivery that is sound.
pub(crate) fn deliveries() -> Vec<Delivery> {
    let mut all = Vec::new();
    for state in State::ALL {
        for in_doubt in [false, true] {
            for first in [None, Some(before(600)), Some(before(100_000)), Some(after(60))] {
                for (attempts, asks) in [(0, 0), (1, 1), (MAX_ATTEMPTS, 0), (1, MAX_ASKS)] {
                    for due in [None, Some(before(1)), Some(NOW), Some(after(1))] {
                        for leased in [false, true] {
                            let open = Delivery {
                                state,
                                round: 2,
                                round_since: (attempts > 0).then_some(before(700)),
                                attempts,
                                asks,
                                in_doubt,
                                available_at: due,
                                token: if attempts > 0 { TOKEN } else { Token::NONE },
                                lease_until: due.filter(|_| leased),
                                lease_owner: leased.then(|| "relay-1".to_owned()),
                                first_sent_at: first,
                                last_lease_until: (attempts > 0).then_some(before(100)),
                                ..Delivery::new(7, NOW)
                            };
                            all.push(open);
                        }
                    }
                }
            }
        }
    }
    all.retain(|open| unsound(open).is_none());
    all
}

pub(crate) fn ended(outcome: ReceiptOutcome, first_sent_at: Option<Micros>) -> Receipt {
    Receipt {
        n: 7,
        round: 2,
        outcome,
        result: Some(b"job 7".to_vec()),
        evidence: Some("HTTP 200".into()),
        source: "relay".into(),
        attempts: 1,
        token: TOKEN,
        first_sent_at,
        recorded_at: before(10),
        key_seq: Some(4),
    }
}

/// Every shape of position.
pub(crate) fn positions() -> Vec<Position> {
    let mut all: Vec<_> = deliveries().into_iter().map(Position::Open).collect();
    for outcome in ReceiptOutcome::ALL {
        for first in [None, Some(before(600)), Some(before(100_000))] {
            all.push(Position::Ended(ended(outcome, first)));
        }
    }
    all
}

pub(crate) fn outcomes() -> Vec<Outcome> {
    let reason = || "said so".to_owned();
    let result = ResultBody::whole("job 7");
    vec![
        Outcome::Completed { result, evidence: reason() },
        Outcome::Accepted { evidence: reason() },
        Outcome::Rejected { reason: reason(), by: Judge::Receiver },
        Outcome::Rejected { reason: reason(), by: Judge::Status },
        Outcome::not_sent("refused"),
        Outcome::NotSent {
            reason: reason(),
            retry_after: Some(Span::from_secs(9)),
            misconfigured: true,
        },
        Outcome::Busy { reason: reason(), retry_after: Some(Span::from_secs(9)) },
        Outcome::Gone { reason: reason() },
        Outcome::unknown("reset"),
        Outcome::Ask { reason: reason() },
        Outcome::Conflict { reason: reason() },
    ]
}

pub(crate) fn answers() -> Vec<Answer> {
    let reason = || "said so".to_owned();
    vec![
        Answer::Done { result: ResultBody::whole("job 7"), evidence: reason() },
        Answer::Refused { reason: reason() },
        Answer::NotThere { believed: true, reason: reason() },
        Answer::NotThere { believed: false, reason: reason() },
        Answer::InProgress { retry_after: Some(Span::from_secs(9)) },
        Answer::Unclear { reason: reason() },
    ]
}

pub(crate) fn due(expires_at: Option<Micros>) -> Input {
    Input::Due { owner: "relay-2".into(), expires_at, seed: Seed(5) }
}

pub(crate) fn settled(token: Token, outcome: Outcome) -> Input {
    settled_in(token, 2, None, true, outcome)
}

/// A settle of an attempt of that round, whose receipt says so.
pub(crate) fn settled_in(
    token: Token,
    round: u32,
    ended_as: Option<ReceiptOutcome>,
    burns: bool,
    outcome: Outcome,
) -> Input {
    Input::Settled { token, round, ended_as, outcome, burns, seed: Seed(5) }
}

pub(crate) fn answered(token: Token, answer: Answer) -> Input {
    Input::Answered { token, answer, seed: Seed(5) }
}

pub(crate) fn reported(outcome: ReceiptOutcome, token: Option<Token>, earlier: bool) -> Input {
    Input::Reported(Report {
        outcome,
        result: None,
        evidence: Some("the worker said so".into()),
        source: "report".into(),
        token,
        equals_earlier: earlier,
    })
}

pub(crate) fn resolve(verdict: Verdict) -> Input {
    Input::Resolve { verdict, evidence: "asked by phone".into(), actor: "ann".into() }
}

pub(crate) fn cancel() -> Input {
    Input::Cancel { actor: "ann".into(), reason: "not wanted".into() }
}

/// Every shape of input; tokens are the position's own, or an older one.
pub(crate) fn inputs() -> Vec<Input> {
    let mut all = vec![cancel(), Input::Unreadable { reason: "not UTF-8".into() }];
    for expires in [None, Some(before(1)), Some(after(1))] {
        all.push(due(expires));
        all.extend(expires.map(|expires_at| Input::Swept { expires_at }));
        for may_act_twice in [false, true] {
            all.push(Input::Retry { may_act_twice, expires_at: expires });
            all.push(Input::Redeliver { may_act_twice, expires_at: expires });
        }
    }
    for token in [TOKEN, STALE] {
        for outcome in outcomes() {
            all.push(settled(token, outcome.clone()));
            all.push(settled_in(token, 2, None, false, outcome.clone()));
            let ended = Some(ReceiptOutcome::Completed);
            all.push(settled_in(STALE, 1, ended, true, outcome));
        }
        all.extend(answers().into_iter().map(|answer| answered(token, answer)));
        all.push(Input::HandedBack { token });
        all.push(Input::Renewed { token });
    }
    for outcome in ReceiptOutcome::ALL {
        for token in [None, Some(TOKEN), Some(STALE), Some(Token::NONE)] {
            all.extend([false, true].map(|earlier| reported(outcome, token, earlier)));
        }
    }
    let verdicts = [Verdict::Completed { result: None }, Verdict::Rejected, Verdict::NotDone];
    all.extend(verdicts.map(resolve));
    all.extend([before(5000), after(5)].map(|at| Input::Restored { at }));
    all
}
