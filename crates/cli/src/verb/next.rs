//! What comes next for a command: what the state machine would do, put into words.
//!
//! Guarantees: each answer is that of `transition`, asked with the stored contract and this
//! relay's pace, so it cannot differ from what a relay does. Does not: know what a receiver will
//! answer, or which relays run.

use counterfoil_core::domain::transition::Input;
use counterfoil_core::domain::{
    Contract, Delivery, Micros, Next, OnParked, Pace, Position, Seed, State, Terms, Transition,
    lane, transition,
};
use counterfoil_core::port::read::Story;

use super::way_out::{self, quoted};
use crate::output::table::cell;
use crate::output::time;

/// What decides.
pub(super) struct Ahead {
    /// The stored contract, and a pace.
    terms: Terms,
    /// The contract is the stored one.
    is_known: bool,
    /// What keeps relays from it, if anything does.
    held: Option<String>,
    /// The store's time.
    now: Micros,
}

impl Ahead {
    /// By the destination's stored contract, if there is one.
    pub(super) fn new(
        contract: Option<Contract>,
        pace: Pace,
        held: Option<String>,
        now: Micros,
    ) -> Self {
        let is_known = contract.is_some();
        // The most careful one, until a relay has said which.
        let contract =
            contract.unwrap_or_else(|| Contract::new(counterfoil_core::domain::Idempotent::No));
        Self { terms: Terms { contract, pace }, is_known, held, now }
    }

    /// Lines for people.
    pub(super) fn tell(&self, story: &Story) -> Vec<String> {
        let Some(open) = &story.delivery else {
            return match story.state() {
                None => way_out::after_the_end(story),
                Some(_) => vec!["next: a person; its row cannot be read".to_owned()],
            };
        };
        let ends = self.ends_first(open, story.expires_at);
        let next = match ends {
            Some(at) => self.end(open, at),
            None if lane::is_blocked(open) => self.turn(story),
            None => self.next(open, story.expires_at),
        };
        let mut lines = vec![format!("next: {next}")];
        lines.extend(way_out::of(story, open, &self.terms, self.now));
        let is_waiting = matches!(open.state, State::Pending | State::Asking);
        // A sweep asks for no pause.
        if let (Some(why), true, None) = (&self.held, is_waiting, ends) {
            lines.push(format!("but {}", cell(why)));
        }
        if !self.is_known && open.in_doubt {
            lines.push("no contract is stored for its destination: no relay has served it".into());
        }
        lines.extend(self.expiry(open, story.expires_at));
        lines
    }

    fn next(&self, open: &Delivery, expires_at: Option<Micros>) -> String {
        let at = open.available_at.map(time::show).unwrap_or_default();
        let then = || self.due(open, expires_at);
        match open.state {
            State::Pending => format!("{}, not before {at}", then()),
            State::Sending => {
                let owner = open.lease_owner.as_deref().map(cell).unwrap_or_default();
                format!("{owner} settles it; if not, at {at} its lease ends: {}", then())
            }
            State::Asking if open.lease_until.is_some() => {
                format!("the receiver is being asked; without an answer until {at}: {}", then())
            }
            State::Asking => format!("{}, not before {at}", then()),
            State::Published => format!("its receipt comes; if not, at {at}: {}", then()),
            State::Dead => {
                "a person; it surely was not done, and no machine tries again: mend the \
                 cause and retry it, or end it"
                    .to_owned()
            }
            State::Uncertain => {
                "a person; it may have been done, and no machine may send it again: look at the \
                 receiver, then say what became of it"
                    .to_owned()
            }
            State::Conflict => "a person; the receiver knows this key with other content (or \
                 refuses the content with the same status)"
                .to_owned(),
        }
    }

    /// Whose turn it is in its lane, where it waits for its own.
    fn turn(&self, story: &Story) -> String {
        let Some(lane) = &story.lane else { return "it waits for its turn in its lane".into() };
        let key = cell(&lane.ordering_key);
        let blocks = self.terms.contract.on_parked == OnParked::Block;
        let named = |(id, state): &(String, String)| format!("{} ({state})", cell(id));
        match (&lane.turn, lane.first.first()) {
            (Some(holder), _) => {
                format!("it waits for its turn in lane {key}; {} has it", named(holder))
            }
            (None, Some((id, state)))
                if blocks && State::from_name(state).is_some_and(State::is_parked) =>
            {
                let id = cell(id);
                format!(
                    "it waits for its turn in lane {key}, which {id} blocks: it is {state} and \
                     waits for a person: counterfoil show {}",
                    quoted(&id)
                )
            }
            _ => format!("it waits for its turn in lane {key}, which a relay gives it"),
        }
    }

    /// What a relay does when the time has come.
    fn due(&self, open: &Delivery, expires_at: Option<Micros>) -> String {
        let at = open.available_at.map_or(self.now, |at| at.max(self.now));
        let (owner, seed) = (String::new(), Seed(0));
        let input = Input::Due { owner, expires_at, seed };
        self.led_to(open, input, at)
    }

    fn led_to(&self, open: &Delivery, input: Input, at: Micros) -> String {
        let position = Position::Open(open.clone());
        match transition(&position, input, &self.terms, at) {
            Transition::Applied { next: Next::Open(next), .. } => match next.state {
                State::Sending => "a relay sends it".into(),
                State::Pending => "a relay sends it again".into(),
                State::Asking if next.lease_until.is_some() => self.question(&next),
                State::Asking => "the receiver is asked what became of it".into(),
                State::Published => "it waits for its receipt".into(),
                State::Uncertain => "it waits for a person, as uncertain".into(),
                State::Dead | State::Conflict => format!("it is parked: {}", next.state.name()),
            },
            Transition::Applied { next: Next::Ended(receipt), .. } => {
                format!("it ends, {}", receipt.outcome.name())
            }
            Transition::Applied { next: Next::Contradicted(_), .. } => "nothing".into(),
            Transition::Ignored { reason, .. } | Transition::Refused(reason) => {
                format!("nothing: {reason}")
            }
        }
    }

    fn question(&self, next: &Delivery) -> String {
        let most = self.terms.contract.ask.as_ref().map_or(0, |ask| ask.max_asks);
        format!("the receiver is asked, question {} of {most}", next.asks)
    }

    /// Its expiry, where that comes before anything else does. What is in doubt and waits for its
    /// turn waits on.
    fn ends_first(&self, open: &Delivery, expires_at: Option<Micros>) -> Option<Micros> {
        let at = expires_at.filter(|_| open.state == State::Pending)?;
        let is_first = match open.available_at {
            Some(due) => at <= due.max(self.now),
            None => at <= self.now && !open.in_doubt,
        };
        is_first.then_some(at)
    }

    fn end(&self, open: &Delivery, expires_at: Micros) -> String {
        let led = self.led_to(open, Input::Swept { expires_at }, expires_at.max(self.now));
        let at = time::show(expires_at);
        if expires_at <= self.now {
            return format!("{led}: its expiry, {at}, is over");
        }
        format!("{led}, at its expiry, {at}, before it is due")
    }

    /// What its expiry does, where something else comes first.
    fn expiry(&self, open: &Delivery, expires_at: Option<Micros>) -> Option<String> {
        let expires_at = expires_at.filter(|_| self.ends_first(open, expires_at).is_none())?;
        let at = time::show(expires_at);
        match open.state {
            State::Pending if open.in_doubt && lane::is_blocked(open) => None,
            State::Pending => {
                let led = self.led_to(open, Input::Swept { expires_at }, expires_at.max(self.now));
                Some(format!("if it still waits at {at}: {led}"))
            }
            state if !state.is_parked() => None,
            _ if expires_at <= self.now => {
                Some(format!("its expiry, {at}, is over: it can be sent no more"))
            }
            _ => Some(format!("from its expiry on, {at}, it can be sent no more")),
        }
    }

    /// When its receiver took it over, by what, and until when the receipt is waited for.
    pub(super) fn accepted(&self, story: &Story) -> Option<(Micros, String)> {
        let open = story.delivery.as_ref().filter(|open| open.state == State::Published)?;
        let (due, (_, sent)) = (open.available_at?, story.sends()?);
        let said = open.last_outcome.as_deref().map_or_else(|| "accepted".to_owned(), cell);
        let said = format!("{said}; its receipt is due at {}", time::show(due));
        // The row says until when, and the contract for how long; another one may have come since.
        let waits = self.terms.contract.receipt_timeout.as_micros();
        let at = Micros::new(due.get().saturating_sub(waits));
        if self.is_known && sent <= at && at <= self.now {
            return Some((at, said));
        }
        Some((sent, format!("some time later {said}")))
    }
}

#[cfg(test)]
mod tests {
    use counterfoil_core::domain::{Asking, Idempotent, Span};

    use super::*;

    const NOW: Micros = Micros::new(2_000_000_000_000_000);

    fn ahead(idempotent: Idempotent, asking: bool) -> Ahead {
        let mut contract = Contract::new(idempotent);
        contract.ask = asking.then(|| Asking::new(Span::from_secs(60)));
        Ahead::new(Some(contract), Pace::default(), None, NOW)
    }

    fn delivery(state: State, in_doubt: bool) -> Delivery {
        let at = NOW.plus(Span::from_secs(1));
        let first_sent_at = in_doubt.then_some(NOW);
        Delivery { state, in_doubt, first_sent_at, ..Delivery::new(1, at) }
    }

    #[test]
    fn the_contract_decides_what_follows_a_lease_that_ends() {
        let sending = delivery(State::Sending, false);
        let cases = [
            (Idempotent::Forever, false, "a relay sends it again"),
            (Idempotent::No, true, "the receiver is asked"),
            (Idempotent::No, false, "as uncertain"),
        ];
        for (idempotent, asking, word) in cases {
            let said = ahead(idempotent, asking).next(&sending, None);
            assert!(said.contains("its lease ends") && said.contains(word), "{said}");
        }
    }

    #[test]
    fn in_doubt_and_not_to_be_repeated_is_never_sent() {
        let pending = delivery(State::Pending, true);
        let said = ahead(Idempotent::No, false).next(&pending, None);
        assert!(said.starts_with("it waits for a person, as uncertain"), "{said}");
        let said = ahead(Idempotent::No, true).next(&pending, None);
        assert!(said.starts_with("the receiver is asked what became of it"), "{said}");
        let said = ahead(Idempotent::Forever, false).next(&pending, None);
        assert!(said.starts_with("a relay sends it, not before 2033"), "{said}");
    }

    #[test]
    fn questions_are_counted_and_the_last_one_leads_to_a_person() {
        let asking = delivery(State::Asking, true);
        let said = ahead(Idempotent::No, true).next(&asking, None);
        assert!(said.starts_with("the receiver is asked, question 1 of 20"), "{said}");
        let lease_until = asking.available_at;
        let last = Delivery { asks: 20, lease_until, ..asking };
        let said = ahead(Idempotent::No, true).next(&last, None);
        assert!(said.ends_with("as uncertain"), "{said}");
    }

    #[test]
    fn an_expiry_ends_what_waits_and_leaves_what_is_in_doubt_to_questions() {
        let expires_at = Some(NOW.plus(Span::from_secs(9)));
        let plain = delivery(State::Pending, false);
        let said = ahead(Idempotent::No, true).expiry(&plain, expires_at).unwrap();
        assert!(said.ends_with("it ends, expired"), "{said}");
        let doubt = delivery(State::Pending, true);
        let said = ahead(Idempotent::No, true).expiry(&doubt, expires_at).unwrap();
        assert!(said.ends_with("the receiver is asked what became of it"), "{said}");
        let due_late = Delivery { available_at: Some(NOW.plus(Span::from_secs(99))), ..plain };
        let said = ahead(Idempotent::No, true).next(&due_late, expires_at);
        assert!(said.starts_with("it ends, expired"), "{said}");
    }

    /// Three lines about one expiry disagreed: by which it is not sent, when it is due, and when it
    /// still waits.
    #[test]
    fn an_expiry_is_said_once() {
        let at = |secs| Some(NOW.plus(Span::from_secs(secs)));
        let ahead = ahead(Idempotent::No, true);
        let due_late = Delivery { available_at: at(99), ..delivery(State::Pending, false) };
        assert_eq!(ahead.ends_first(&due_late, at(9)), at(9));
        assert_eq!(ahead.expiry(&due_late, at(9)), None);
        let said = ahead.end(&due_late, at(9).unwrap());
        assert!(said.starts_with("it ends, expired, at its expiry, 2033"), "{said}");
        assert!(ahead.end(&due_late, NOW).ends_with("is over"));
        let due = delivery(State::Pending, false);
        assert_eq!(
            (ahead.ends_first(&due, at(9)), ahead.ends_first(&due, Some(NOW))),
            (None, Some(NOW))
        );
        let blocked = Delivery { available_at: None, ..due.clone() };
        assert_eq!(
            (ahead.ends_first(&blocked, at(9)), ahead.ends_first(&blocked, at(0))),
            (None, at(0))
        );
        let doubtful = Delivery { in_doubt: true, ..blocked };
        assert_eq!(
            (ahead.ends_first(&doubtful, at(0)), ahead.expiry(&doubtful, at(0))),
            (None, None)
        );
        let dead = delivery(State::Dead, false);
        assert!(ahead.expiry(&dead, at(9)).unwrap().starts_with("from its expiry on"));
        assert!(ahead.expiry(&dead, at(0)).unwrap().ends_with("it can be sent no more"));
        assert_eq!(ahead.expiry(&delivery(State::Sending, false), at(9)), None);
    }
}
