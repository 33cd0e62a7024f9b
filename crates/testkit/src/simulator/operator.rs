//! People who act by hand, at random, while everything else goes on.
//!
//! Guarantees: an honest person looks at the receiver first and says what is true; a careless one
//! does not look; both are subject to the same store, which may fail or leave them in the dark, and
//! then they say it again. Does not: judge; see `verb`.

use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{Delivery, State};
use counterfoil_core::port::{Act, Actor, Deed};

use super::dice::Dice;
use super::world::{Event, World};

/// Somebody who acts by hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Person {
    /// Looks at the receiver before it says what became of a command.
    pub(super) is_honest: bool,
    /// How long it rests between two acts, at most, in milliseconds.
    pub(super) rest_ms: u64,
    /// It lets what ended be delivered again, if it likes.
    pub(super) redelivers: bool,
    /// It pauses destinations.
    pub(super) pauses: bool,
}

impl Person {
    pub(super) fn draw_all(dice: &mut Dice) -> Vec<Self> {
        let count = if dice.chance(600) { dice.between(1, 2) } else { 0 };
        let one = |dice: &mut Dice| Self {
            is_honest: dice.chance(500),
            rest_ms: dice.between(1_000, 15_000),
            redelivers: dice.chance(600),
            pauses: dice.chance(400),
        };
        (0..count).map(|_| one(dice)).collect()
    }
}

/// What somebody does.
#[derive(Clone, Debug)]
pub(super) enum Doing {
    Deeds(Vec<Deed>),
    Pause(usize),
    Resume(usize),
}

/// What somebody does, on its way to the store.
#[derive(Clone, Debug)]
pub(super) struct Acting {
    pub(super) person: usize,
    pub(super) doing: Doing,
    /// It is committed; else it fails or is lost.
    pub(super) is_applied: bool,
    /// How often it was said before.
    pub(super) again: u32,
    /// The answer says less than what happened.
    pub(super) is_heard: bool,
}

/// What one person does to what it sees.
struct View<'a> {
    id: &'a str,
    open: Option<&'a Delivery>,
}

impl World<'_> {
    /// Somebody looks at the store, decides, and says so.
    pub(super) fn operate(&mut self, person: usize) {
        if self.is_healthy() {
            return;
        }
        let who = self.plan.people[person];
        let ms = self.dice.between(200, who.rest_ms);
        self.later(ms, Event::Operate { person });
        let pauses = who.pauses && self.dice.chance(200);
        let doing = if pauses {
            let place = self.dice.place(self.plan.sites.len());
            Some(if self.dice.chance(600) { Doing::Resume(place) } else { Doing::Pause(place) })
        } else if self.dice.chance(250) {
            self.by_filter(who).map(Doing::Deeds)
        } else {
            self.by_name(who).map(|deed| Doing::Deeds(vec![deed]))
        };
        if let Some(doing) = doing {
            self.says(Acting { person, doing, is_applied: true, again: 0, is_heard: true });
        }
    }

    /// On its way to the store, which may fail or not answer.
    pub(super) fn says(&mut self, acting: Acting) {
        let rates = self.plan.rates.clone();
        let mut ms = self.dice.delay(3_000);
        if self.fails(rates.store_slow) {
            ms += self.dice.between(20, 12_000);
        }
        let (mut is_applied, mut is_heard) = (true, true);
        if self.fails(rates.store_down) {
            self.coverage.count("acts by hand that fail");
            (is_applied, is_heard) = (false, false);
        } else if self.fails(rates.not_known) {
            self.coverage.count("acts by hand of which it is not known");
            (is_applied, is_heard) = (self.dice.chance(500), false);
        }
        self.later(ms, Event::Act(Acting { is_applied, is_heard, ..acting }));
    }

    /// One command, mostly one that waits for a person.
    fn by_name(&mut self, who: Person) -> Option<Deed> {
        let parked: Vec<&str> = {
            let all = self.watch.all();
            let parked = all.filter(|(_, open)| open.is_some_and(|it| it.state.is_parked()));
            parked.map(|(id, _)| id).collect()
        };
        let all: Vec<&str> = self.watch.all().map(|(id, _)| id).collect();
        let of = if !parked.is_empty() && self.dice.chance(650) { parked } else { all };
        let id = (*of.get(self.dice.place(of.len()))?).to_owned();
        let open = self.watch.n_of(&id).and_then(|n| self.watch.open(n)).cloned();
        let act = self.verb(who, &View { id: &id, open: open.as_ref() })?;
        Some(Deed { command_id: id, act, by_filter: false })
    }

    /// What somebody does to a command; an honest person says what it found.
    fn verb(&mut self, who: Person, view: &View<'_>) -> Option<Act> {
        let may_act_twice = self.dice.chance(400);
        let Some(open) = view.open else {
            return who.redelivers.then_some(Act::Redeliver { may_act_twice });
        };
        let verb = self.dice.place(10);
        let completed = || Act::Resolve(Verdict::Completed { result: None });
        if !who.is_honest {
            return Some(match verb {
                0..=3 => Act::Retry { may_act_twice },
                4 => completed(),
                5 => Act::Resolve(Verdict::Rejected),
                6 | 7 => Act::Resolve(Verdict::NotDone),
                8 => Act::Cancel,
                _ => Act::Redeliver { may_act_twice },
            });
        }
        let place = self.site_of(view.id)?;
        let receiver = &self.receivers[place];
        let (done, refused) = (receiver.count(view.id) > 0, receiver.has_refused(view.id));
        let quiet = self.under_way(place, view.id) == 0;
        Some(match verb {
            0..=2 => Act::Retry { may_act_twice: may_act_twice && !done && quiet },
            3 => Act::Cancel,
            _ if done => completed(),
            _ if !quiet || open.lease_until.is_some() => return None,
            _ if refused => Act::Resolve(Verdict::Rejected),
            _ => Act::Resolve(Verdict::NotDone),
        })
    }

    pub(super) fn site_of(&self, id: &str) -> Option<usize> {
        self.watch.meant(id).map(|meant| meant.site)
    }

    /// All that are in one state at one destination.
    fn by_filter(&mut self, who: Person) -> Option<Vec<Deed>> {
        let place = self.dice.place(self.plan.sites.len());
        let may_act_twice = self.dice.chance(300);
        let (act, state) = match self.dice.place(7) {
            0 => (Act::Cancel, Some(State::Pending)),
            1 => (Act::Cancel, Some(State::Dead)),
            2 => (Act::Retry { may_act_twice }, Some(State::Dead)),
            3 => (Act::Retry { may_act_twice }, Some(State::Uncertain)),
            4 => (Act::Retry { may_act_twice }, Some(State::Conflict)),
            5 if !who.is_honest => (Act::Resolve(Verdict::NotDone), Some(State::Uncertain)),
            _ if who.redelivers => (Act::Redeliver { may_act_twice }, None),
            _ => return None,
        };
        let found = self.watch.all().filter(|(id, open)| {
            self.site_of(id) == Some(place) && open.map(|open| open.state) == state
        });
        let deed = |(id, _): (&str, _)| Deed {
            command_id: id.to_owned(),
            act: act.clone(),
            by_filter: true,
        };
        let deeds: Vec<Deed> = found.map(deed).collect();
        (!deeds.is_empty()).then_some(deeds)
    }

    /// Who acts, as the record will show.
    pub(super) fn actor(&self, person: usize) -> Actor {
        let honest = self.plan.people[person].is_honest;
        let name = if honest { format!("honest-{person}") } else { format!("careless-{person}") };
        Actor { name, reason: "simulated".into() }
    }
}
