//! A page of inputs that are due, as every store makes it.
//!
//! Guarantees: pure; of one workflow no input comes before an earlier one, where a timer counts
//! from when it was due and any other from when it was recorded, those by arrival among themselves;
//! however much comes at once, a quarter of a page is for what has a time; a page is full if enough
//! may come. Does not: look at a store; it says what a store must look at.

use std::collections::HashMap;

use super::DueInput;
use crate::domain::{Micros, Stream};

/// An input that is due, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// When it was due, of one that has a time; when it was recorded, of any other.
    pub at: Micros,
    /// Rises with each input that is written.
    pub arrival: i64,
    /// The input.
    pub input: DueInput,
}

/// What a store found of what is due: the first so many of either kind, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueLists {
    /// What is due at once, by arrival.
    at_once: Vec<Placed>,
    /// What has a time that has passed, by it and then by arrival.
    timed: Vec<Placed>,
    /// Whether more may stand behind either.
    is_cut: [bool; 2],
    limit: usize,
}

/// What a store must look for behind a list that was cut: whether an input of this workflow stands
/// there that was to come before one in the other list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The workflow.
    pub stream: Stream,
    /// Among those that have a time; else among those that are due at once.
    pub is_timed: bool,
    /// The last of the list: when it was due, and its arrival. What has a time stands behind both,
    /// what is due at once behind its arrival.
    pub after: (Micros, i64),
    /// The other's time: what has a time was due before it, what is due at once was recorded then
    /// or before.
    pub before: Micros,
}

/// Where an input is in the order of its workflow.
#[derive(Clone, Copy)]
struct Turn {
    flow: usize,
    place: usize,
}

/// The inputs of one workflow, in order; those due at once are counted before those with a time.
#[derive(Default)]
struct Flow {
    order: Vec<usize>,
    /// How many of them may come: the next one waits for what stands behind a list.
    open: usize,
    /// How many of them are chosen.
    chosen: usize,
}

impl DueLists {
    /// Of at most `limit` inputs; what is due at once and what has a time, each in its order, and
    /// whether more may stand behind it.
    #[must_use]
    pub fn new(
        (mut at_once, at_once_is_cut): (Vec<Placed>, bool),
        (mut timed, timed_is_cut): (Vec<Placed>, bool),
        limit: usize,
    ) -> Self {
        let is_cut = [at_once_is_cut || at_once.len() > limit, timed_is_cut || timed.len() > limit];
        at_once.truncate(limit);
        timed.truncate(limit);
        Self { at_once, timed, is_cut, limit }
    }

    /// What the store must look for; its answers go to [`page`](Self::page) in this order.
    #[must_use]
    pub fn questions(&self) -> Vec<Behind> {
        let mut questions = Vec::new();
        let (Some(last), Some(last_timed)) = (self.at_once.last(), self.timed.last()) else {
            return questions;
        };
        let ask = |of: &Placed, is_timed, last: &Placed| Behind {
            stream: of.input.stream.clone(),
            is_timed,
            after: (last.at, last.arrival),
            before: of.at,
        };
        questions.extend(self.asked_timed().iter().map(|of| ask(of, false, last)));
        questions.extend(self.asked_at_once().map(|of| ask(of, true, last_timed)));
        questions
    }

    /// Those with a time before which one may stand behind what is due at once; of the others it is
    /// not asked, and they wait.
    fn asked_timed(&self) -> &[Placed] {
        let asked = if self.is_cut[0] { self.timed.len().min((self.limit / 4).max(1)) } else { 0 };
        &self.timed[..asked]
    }

    /// Those due at once before which one may stand behind what has a time.
    fn asked_at_once(&self) -> impl Iterator<Item = &Placed> {
        let last = self.timed.last().filter(|_| self.is_cut[1]).map(|last| last.at);
        self.at_once.iter().filter(move |of| last.is_some_and(|last| of.at > last))
    }

    /// The page, by what the store has found behind the lists.
    #[must_use]
    pub fn page(self, behind: &[bool]) -> Vec<DueInput> {
        if self.at_once.is_empty() || self.timed.is_empty() {
            return self.at_once.into_iter().chain(self.timed).map(|one| one.input).collect();
        }
        let (mut flows, turns) = self.flows(behind);
        if flows.iter().all(|flow| flow.open == 0) {
            // Only where a clock was set back: something must come, or nothing ever would.
            flows.iter_mut().for_each(|flow| flow.open = flow.order.len());
        }
        self.choose(&mut flows, &turns);
        self.in_order(&flows, &turns)
    }

    /// Those with a time first, as many as have their part of the page, then by arrival; each
    /// brings along what comes before it in its workflow.
    fn choose(&self, flows: &mut [Flow], turns: &[Turn]) {
        let (count, limit) = (self.at_once.len(), self.limit);
        let timed_max = self.timed.len().min(limit.saturating_sub(count).max(limit / 4));
        let (mut room, mut timed) = (limit, 0);
        let mut take = |of: usize, timed: &mut usize| {
            let Turn { flow, place } = turns[of];
            let flow = &mut flows[flow];
            while room > 0 && place < flow.open && flow.chosen <= place {
                *timed += usize::from(flow.order[flow.chosen] >= count);
                flow.chosen += 1;
                room -= 1;
            }
        };
        for of in count..turns.len() {
            if timed < timed_max {
                take(of, &mut timed);
            }
        }
        (0..turns.len()).for_each(|of| take(of, &mut timed));
    }

    /// What is chosen: by arrival, then by time, but each workflow's own in its order.
    fn in_order(self, flows: &[Flow], turns: &[Turn]) -> Vec<DueInput> {
        let slots = turns.iter().filter(|turn| turn.place < flows[turn.flow].chosen);
        // The n-th slot of a workflow is for its n-th input.
        let mut given = vec![0; flows.len()];
        let order = slots.map(|turn| {
            given[turn.flow] += 1;
            flows[turn.flow].order[given[turn.flow] - 1]
        });
        let order: Vec<usize> = order.collect();
        let mut all: Vec<Option<DueInput>> =
            self.at_once.into_iter().chain(self.timed).map(|one| Some(one.input)).collect();
        order.into_iter().filter_map(|of| all[of].take()).collect()
    }

    /// The workflows, and the turn of each input.
    fn flows(&self, behind: &[bool]) -> (Vec<Flow>, Vec<Turn>) {
        let mut known: HashMap<&Stream, usize> = HashMap::new();
        let mut lists: Vec<[Vec<usize>; 2]> = Vec::new();
        let count = self.at_once.len();
        for (of, one) in self.at_once.iter().chain(&self.timed).enumerate() {
            let flow = *known.entry(&one.input.stream).or_insert(lists.len());
            if flow == lists.len() {
                lists.push(Default::default());
            }
            lists[flow][usize::from(of >= count)].push(of);
        }
        let waits = self.waiting(behind);
        let mut turns = vec![Turn { flow: 0, place: 0 }; count + self.timed.len()];
        let flows = lists.into_iter().enumerate().map(|(flow, [at_once, timed])| {
            let order = self.merged(at_once, timed);
            for (place, of) in order.iter().enumerate() {
                turns[*of] = Turn { flow, place };
            }
            let open = order.iter().position(|of| waits[*of]).unwrap_or(order.len());
            Flow { order, open, chosen: 0 }
        });
        (flows.collect(), turns)
    }

    /// The two lists of one workflow in one: what came at the time at which a timer was due came
    /// before it. A clock that was set back turns no arrivals around.
    fn merged(&self, at_once: Vec<usize>, timed: Vec<usize>) -> Vec<usize> {
        let mut order = Vec::with_capacity(at_once.len() + timed.len());
        let mut timed = timed.into_iter().peekable();
        let mut at = Micros::default();
        for of in at_once {
            at = at.max(self.at_once[of].at);
            while let Some(next) = timed.next_if(|it| self.timed[it - self.at_once.len()].at < at) {
                order.push(next);
            }
            order.push(of);
        }
        order.extend(timed);
        order
    }

    /// Of each input whether one behind the lists is to come before it, as far as is known.
    fn waiting(&self, behind: &[bool]) -> Vec<bool> {
        let mut answers = behind.iter().copied();
        let asked_timed = self.asked_timed().len();
        let mut timed: Vec<bool> = answers.by_ref().take(asked_timed).collect();
        timed.resize(self.timed.len(), self.is_cut[0]);
        let last = self.timed.last().filter(|_| self.is_cut[1]).map(|last| last.at);
        let asked = |one: &Placed| last.is_some_and(|last| one.at > last);
        let at_once = self.at_once.iter().map(|one| asked(one) && answers.next().unwrap_or(true));
        at_once.chain(timed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::workflow::InputKind;

    /// Each as (workflow, time); what is due at once arrives in the order given.
    type Given<'a> = &'a [(&'a str, i64)];

    fn placed(given: Given<'_>, kind: InputKind) -> Vec<Placed> {
        let one = |(arrival, (stream, at)): (i64, &(&str, i64))| Placed {
            at: Micros::new(*at),
            arrival,
            input: DueInput {
                stream: Stream::new(*stream).unwrap(),
                id: format!("{}{at}", &kind.name()[..1]),
                kind,
                name: "n".into(),
                body: Vec::new(),
                standing: None,
                receipt: None,
            },
        };
        (0..).zip(given).map(one).collect()
    }

    /// The page as `workflow id`, by a store that has no more than the lists, but for what is said
    /// to stand behind them.
    fn page(at_once: Given<'_>, timed: Given<'_>, limit: usize, behind: &[bool]) -> Vec<String> {
        let (at_once, timed) =
            (placed(at_once, InputKind::Signal), placed(timed, InputKind::Timer));
        let lists = DueLists::new((at_once, false), (timed, false), limit);
        let mut answers = behind.to_vec();
        answers.resize(lists.questions().len(), false);
        let page = lists.page(&answers);
        page.into_iter().map(|one| format!("{} {}", one.stream, one.id)).collect()
    }

    #[test]
    fn timers_have_a_quarter_of_a_page() {
        let names: Vec<String> = (0..18).map(|n| format!("w{n:02}")).collect();
        let signals: Vec<_> = names[..9].iter().map(|name| (name.as_str(), 1)).collect();
        let timers: Vec<_> = names[9..].iter().map(|name| (name.as_str(), 1)).collect();
        let first = |at_once: usize, timed: usize, limit| {
            let page = page(&signals[..at_once], &timers[..timed], limit, &[]);
            page.into_iter().map(|one| one[..3].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(first(9, 9, 4), ["w00", "w01", "w02", "w09"]);
        assert_eq!(first(1, 9, 4), ["w00", "w09", "w10", "w11"]);
        assert_eq!(first(9, 0, 4), ["w00", "w01", "w02", "w03"]);
        assert_eq!(first(9, 9, 3), ["w00", "w01", "w02"]);
        assert!(first(9, 9, 0).is_empty());
    }

    #[test]
    fn a_timer_that_was_due_comes_before_what_came_later() {
        let signals = [("a", 5), ("b", 6), ("a", 7), ("a", 9)];
        let timers = [("a", 6), ("a", 9), ("b", 6)];
        let wanted = ["a s5", "b s6", "a t6", "a s7", "a s9", "a t9", "b t6"];
        let found = page(&signals, &timers, 9, &[]);
        assert_eq!(found, ["a s5", "b s6", "a t6", "a s7", "a s9", "a t9", "b t6"]);
        // Whatever the page, each workflow's own come in this order, without a gap.
        for limit in 1..9 {
            let found = page(&signals, &timers, limit, &[]);
            assert_eq!(found.len(), limit.min(7));
            for flow in ["a", "b"] {
                let own = |page: &[String]| -> Vec<String> {
                    page.iter().filter(|one| one.starts_with(flow)).cloned().collect()
                };
                let all: Vec<String> = wanted.map(str::to_owned).to_vec();
                let found = own(&found);
                assert_eq!(found, own(&all)[..found.len()], "{limit}");
            }
        }
    }

    #[test]
    fn a_clock_that_was_set_back_turns_no_arrivals_around() {
        let found = page(&[("a", 9), ("a", 3)], &[("a", 6)], 9, &[]);
        assert_eq!(found, ["a t6", "a s9", "a s3"]);
    }

    #[test]
    fn what_stands_behind_a_list_is_asked_for_and_waited_for() {
        let (signals, timers) = ([("a", 5), ("b", 9), ("c", 9)], [("a", 4), ("d", 6), ("b", 7)]);
        let lists = |limit| {
            let at_once = placed(&signals, InputKind::Signal);
            DueLists::new((at_once, false), (placed(&timers, InputKind::Timer), false), limit)
        };
        assert_eq!(lists(3).questions(), [], "nothing is cut");
        let asked: Vec<_> = lists(2).questions();
        let brief = |one: &Behind| format!("{} {} {}", one.stream, one.is_timed, one.before.get());
        assert_eq!(asked.iter().map(brief).collect::<Vec<_>>(), ["a false 4", "b true 9"]);
        assert_eq!((asked[0].after.1, asked[1].after), (1, (Micros::new(6), 1)));
        let page = |behind: &[bool]| {
            let page = lists(2).page(behind);
            page.into_iter().map(|one| format!("{} {}", one.stream, one.id)).collect::<Vec<_>>()
        };
        assert_eq!(page(&[false, false]), ["a t4", "a s5"]);
        // A signal before the timer of `a` was not read, nor the timer before the signal of `b`.
        assert_eq!(page(&[true, false]), ["b s9"]);
        assert_eq!(page(&[true, true]), ["a t4", "a s5"], "something must come");
    }
}
