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
            return vec![match story.state() {
                None => "next: nothing, it has ended".to_owned(),
                Some(_) => "next: a person; its row cannot be read".to_owned(),
            }];
        };
        let is_blocked = lane::is_blocked(open);
        let next = if is_blocked { self.turn(story) } else { self.next(open, story.expires_at) };
        let mut lines = vec![format!("next: {next}")];
        lines.extend(ways_out(story, open));
        let is_waiting = matches!(open.state, State::Pending | State::Asking);
        if let (Some(why), true) = (&self.held, is_waiting) {
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
            State::Dead => "a person; it surely was not done".to_owned(),
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

    fn expiry(&self, open: &Delivery, expires_at: Option<Micros>) -> Option<String> {
        let expires_at = expires_at.filter(|_| open.state == State::Pending)?;
        let at = expires_at.max(self.now);
        let led = self.led_to(open, Input::Swept { expires_at }, at);
        Some(format!("if it still waits at {}: {led}", time::show(expires_at)))
    }
}

/// What a person may do about a parked one.
fn ways_out(story: &Story, open: &Delivery) -> Vec<String> {
    let id = quoted(&cell(&story.listed.command_id));
    let behind = story.lane.as_ref().map_or(0, |lane| lane.behind);
    let mut lines = Vec::new();
    if open.state.is_parked() && behind > 0 {
        let wait = if behind == 1 { "waits" } else { "wait" };
        lines.push(format!("{behind} behind it in its lane {wait} until then"));
    }
    let resolve = |verdict: &str| format!("  counterfoil resolve {id} {verdict} --evidence \"…\"");
    match open.state {
        State::Uncertain | State::Conflict => {
            lines.extend(["--completed", "--rejected", "--not-done"].map(resolve));
        }
        State::Dead => {
            lines.push(format!("  counterfoil retry {id}"));
            lines.push(format!("  counterfoil cancel {id} --reason \"…\""));
        }
        State::Pending | State::Sending | State::Asking | State::Published => {}
    }
    lines
}

/// As a shell takes it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
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

    #[test]
    fn an_id_is_quoted_where_a_shell_would_split_it() {
        assert_eq!(quoted("order.paid:A-17"), "order.paid:A-17");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted("$(x)"), "'$(x)'");
    }
}
