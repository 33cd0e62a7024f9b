//! Seeded walks of one command through time, watched by a judge that remembers what really
//! happened.
//!
//! Guarantees: the judge's own memory, not the row's, says whether a send could act twice. Does
//! not: run relays; the walk plays them.

use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{
    Answer, Delivery, Idempotent, Input, Micros, Next, Outcome, Position, Seed, Span, State, Terms,
    Transition, transition,
};

use crate::shape::{
    NOW, answered, answers, cancel, day, due, outcomes, reported, resolve, settled, terms,
};

/// What really happened, as the judge remembers it.
#[derive(Debug, Default)]
struct Truth {
    /// The first send that may have acted and was never cleared.
    may_have_acted_since: Option<Micros>,
    /// The attempt in flight, and when it was claimed.
    in_flight: Option<Micros>,
    /// A person allowed one more send.
    permitted: bool,
}

struct Walk {
    seed: u64,
    step: u64,
    now: Micros,
    terms: Terms,
    position: Position,
    truth: Truth,
    sends: u32,
    said: Vec<String>,
}

impl Walk {
    fn new(seed: u64, terms: Terms) -> Self {
        let position = Position::Open(Delivery::new(7, NOW));
        let (truth, said) = (Truth::default(), Vec::new());
        Self { seed, step: 0, now: NOW, terms, position, truth, sends: 0, said }
    }

    fn draw(&mut self, of: usize) -> usize {
        self.step += 1;
        let number = Seed(self.seed.wrapping_mul(0x1_0000_01b3) ^ self.step).mixed();
        usize::try_from(number % of as u64).unwrap()
    }

    /// The next input: mostly what a machine does, now and then a person or a receiver.
    fn next_input(&mut self, people: bool) -> Input {
        let Position::Open(open) = self.position.clone() else {
            return Input::Redeliver { may_act_twice: false, expires_at: None };
        };
        match self.draw(12) {
            0 if people => Input::Retry { may_act_twice: self.draw(3) == 0, expires_at: None },
            1 if people => resolve(Verdict::NotDone),
            2 if people => cancel(),
            3 => Input::HandedBack { token: open.token },
            4 => Input::Renewed { token: open.token },
            5 if self.draw(8) == 0 => {
                reported(counterfoil_core::domain::ReceiptOutcome::Completed, None, false)
            }
            6..=8 if open.state == State::Sending => {
                let all = outcomes();
                let outcome = all[self.draw(all.len())].clone();
                settled(open.token, outcome)
            }
            6..=8 if open.state == State::Asking => {
                let all = answers();
                let answer = all[self.draw(all.len())].clone();
                answered(open.token, answer)
            }
            _ => {
                let wait = [0, 1, 31, 100, 700, 40_000][self.draw(6)];
                self.now = self.now.plus(Span::from_secs(wait));
                due(None)
            }
        }
    }

    fn go(&mut self, people: bool) {
        let input = self.next_input(people);
        self.said.push(format!("{} {input:?}", self.now.since(NOW).as_micros() / 1_000_000));
        let position = self.position.clone();
        let answer = transition(&position, input.clone(), &self.terms, self.now);
        let Transition::Applied { next, .. } = answer else { return };
        match next {
            Next::Open(open) => {
                self.learn(&position, &input, &open);
                self.position = Position::Open(open);
            }
            Next::Ended(receipt) => {
                self.truth = Truth::default();
                self.position = Position::Ended(receipt);
            }
            Next::Contradicted(_) => {}
        }
    }

    fn learn(&mut self, before: &Position, input: &Input, after: &Delivery) {
        let was = match before {
            Position::Open(open) => open.state,
            Position::Ended(_) => State::Pending,
        };
        match input {
            Input::Due { .. } if was == State::Pending && after.state == State::Sending => {
                self.judge_send();
                self.truth.in_flight = Some(self.now);
            }
            Input::Due { .. } if matches!(was, State::Sending | State::Published) => self.doubt(),
            Input::Settled { outcome: Outcome::Unknown { .. } | Outcome::Ask { .. }, .. } => {
                self.doubt();
            }
            // Accepted may have acted: only its receipt would clear it.
            Input::Settled { outcome: Outcome::Accepted { .. }, .. } => {}
            Input::Settled { .. } | Input::HandedBack { .. } if was == State::Sending => {
                self.truth.in_flight = None;
            }
            Input::Answered { answer: Answer::NotThere { believed: true, .. }, .. }
                if after.state == State::Pending =>
            {
                self.truth.may_have_acted_since = None;
            }
            Input::Resolve { verdict: Verdict::NotDone, .. } => self.truth = Truth::default(),
            Input::Retry { may_act_twice: true, .. } => self.truth.permitted = true,
            _ => {}
        }
    }

    fn doubt(&mut self) {
        let sent = self.truth.in_flight.take().unwrap_or(self.now);
        let first = self.truth.may_have_acted_since.unwrap_or(sent);
        self.truth.may_have_acted_since = Some(first.min(sent));
    }

    /// The one question: could this send act a second time?
    fn judge_send(&mut self) {
        self.sends += 1;
        let Some(first) = self.truth.may_have_acted_since else { return };
        if self.truth.permitted {
            self.truth = Truth::default();
            return;
        }
        let safe = match &self.terms.contract.idempotent {
            Idempotent::Forever => true,
            Idempotent::No => false,
            Idempotent::Window { key_ttl } => {
                let end = self.now.plus(self.terms.pace.lease);
                self.now >= first && end <= first.plus(key_ttl.times(95, 100))
            }
        };
        assert!(
            safe,
            "seed {}: sent where it could act twice, first at {first:?}\n{}",
            self.seed,
            self.said.join("\n")
        );
    }
}

fn walk_all(people: bool) {
    let contracts = [
        terms(Idempotent::No, false),
        terms(Idempotent::No, true),
        terms(day(), false),
        terms(day(), true),
        terms(Idempotent::Forever, false),
    ];
    let mut repeats = 0;
    for (at, terms) in contracts.into_iter().enumerate() {
        for seed in 0..3000 {
            let mut walk = Walk::new(seed * 10 + at as u64, terms.clone());
            for _ in 0..80 {
                walk.go(people);
            }
            repeats += u64::from(walk.sends > 1);
        }
    }
    assert!(repeats > 1000, "only {repeats} walks sent more than once");
}

#[test]
fn a_machine_never_sends_where_it_could_act_twice() {
    walk_all(false);
}

#[test]
fn people_who_say_so_are_the_only_exception() {
    walk_all(true);
}
