//! What an act by hand does to the store, judged against the truth about the receivers.
//!
//! Guarantees: what is done keeps the rules of verbs, written anew here; whatever a person's word
//! or permission excuses is put down for this command and this round alone. Does not: decide what
//! people do; see `operator`.

use std::collections::BTreeSet;

use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::domain::{Delivery, State};
use counterfoil_core::port::{Act, Acted, Deed, Store};

use super::Broken;
use super::operator::{Acting, Doing};
use super::plan::Folds;
use super::world::World;
use super::write::at_once;

/// How often somebody says again what was not known to be done.
const AGAIN_MAX: u32 = 2;

impl World<'_> {
    /// An act by hand arrives at the store, or does not.
    pub(super) fn acts(&mut self, acting: Acting) {
        if acting.is_applied {
            match &acting.doing {
                Doing::Deeds(deeds) => self.does(acting.person, deeds),
                Doing::Pause(place) => self.pauses(acting.person, *place, true),
                Doing::Resume(place) => self.pauses(acting.person, *place, false),
            }
            self.judge_histories();
            self.hint();
        }
        if !acting.is_heard && acting.again < AGAIN_MAX && self.broken.is_none() {
            self.says(Acting { again: acting.again + 1, ..acting });
        }
    }

    fn pauses(&mut self, person: usize, place: usize, pause: bool) {
        let (name, actor) = (self.plan.sites[place].name.clone(), self.actor(person).name);
        let changed = if pause {
            at_once(self.app.pause(&name, &actor, "simulated"))
        } else {
            at_once(self.app.resume(&name, &actor, ""))
        };
        let is_paused = self.app.look(|rows| rows.is_paused(name.as_str()));
        let verb = if pause { "pauses" } else { "resumes" };
        self.trace.line(self.now_ms, format_args!("{actor} {verb} {name}: {changed:?}"));
        if is_paused != pause {
            self.breaks(Broken::new("who pauses or resumes is obeyed", name.to_string()));
        }
        if changed == Some(Ok(true)) {
            self.coverage.count(if pause { "pauses by hand" } else { "resumes by hand" });
        }
    }

    fn does(&mut self, person: usize, deeds: &[Deed]) {
        let actor = self.actor(person);
        let name = actor.name.clone();
        let recorded = self.app.look(|rows| rows.actions.len());
        let Some(Ok(acted)) = at_once(self.app.act(deeds.to_vec(), actor)) else {
            return self.breaks(Broken::new("the store takes an act by hand", "it failed"));
        };
        let mut changed = BTreeSet::new();
        for (deed, acted) in deeds.iter().zip(&acted) {
            let (id, verb) = (&deed.command_id, deed.act.name());
            self.trace.line(self.now_ms, format_args!("{name} {verb} {id}: {acted:?}"));
            let Acted::Done { before, after } = acted else {
                self.coverage.count("acts by hand that are refused");
                continue;
            };
            let Some(n) = self.watch.n_of(id) else { continue };
            changed.insert(n);
            self.coverage.count(class(deed));
            if before == after && self.watch.has_ended(id) {
                self.coverage.count("contradictions that a person looked into");
                continue;
            }
            let before = self.watch.open(n).cloned();
            let after = self.app.look(|rows| Some(rows.deliveries.get(&n)?.delivery.clone()));
            let folds = self.site_of(id).map_or(Folds::Ever, |at| self.plan.sites[at].folds);
            if let Err(what) = judge_deed(deed, before.as_ref(), after.as_ref(), folds) {
                let what = format!("{verb} {id}: {what}");
                return self.breaks(Broken::new("verbs keep their rules", what));
            }
            self.put_down(deed, before.as_ref(), after.as_ref());
        }
        if self.app.look(|rows| rows.actions.len()) != recorded + changed.len() {
            let what = format!("{} by {name}", changed.len());
            return self.breaks(Broken::new("each act by hand is recorded once", what));
        }
        self.judge_app(&|n, _| changed.contains(&n));
    }

    /// Puts down what this act excuses from now on.
    fn put_down(&mut self, deed: &Deed, before: Option<&Delivery>, after: Option<&Delivery>) {
        let id = deed.command_id.as_str();
        let Some(place) = self.site_of(id) else { return };
        let acts = self.receivers[place].count(id);
        let may_act = acts + self.under_way(place, id) > 0;
        let said = &mut self.watch.said;
        said.touched(id);
        let newest = match before {
            Some(before) => before.token.get(),
            None => after.map_or(0, |after| after.token.get()),
        };
        match &deed.act {
            Act::Retry { may_act_twice } => {
                let in_doubt = before.is_some_and(|before| before.in_doubt);
                if *may_act_twice && in_doubt && after.is_some_and(|it| it.first_sent_at.is_none())
                {
                    said.allowed(id, newest, acts);
                    self.coverage.count("permissions to act twice");
                }
            }
            Act::Resolve(Verdict::NotDone) => {
                said.closed(id, newest, acts);
                if may_act {
                    said.allowed(id, newest, acts);
                    self.watch.contradicted.insert(id.to_owned());
                    self.coverage.count("false words: not done");
                }
            }
            Act::Resolve(Verdict::Rejected) => {
                said.closed(id, newest, acts);
                if may_act {
                    self.watch.contradicted.insert(id.to_owned());
                    self.coverage.count("false words: rejected");
                }
            }
            Act::Resolve(Verdict::Completed { .. }) if acts == 0 => {
                self.coverage.count("false words: completed");
            }
            Act::Resolve(Verdict::Completed { .. }) | Act::Cancel => {}
            Act::Redeliver { may_act_twice } => {
                said.closed(id, newest, acts);
                if *may_act_twice && after.is_some_and(|it| it.first_sent_at.is_none()) {
                    said.allowed(id, newest, acts);
                    self.coverage.count("permissions to act twice");
                }
            }
        }
    }
}

fn class(deed: &Deed) -> &'static str {
    match (&deed.act, deed.by_filter) {
        (Act::Retry { may_act_twice: false }, false) => "retry",
        (Act::Retry { may_act_twice: true }, false) => "retry, may act twice",
        (Act::Retry { .. }, true) => "retry by filter",
        (Act::Resolve(Verdict::Completed { .. }), _) => "resolve: completed",
        (Act::Resolve(Verdict::Rejected), _) => "resolve: rejected",
        (Act::Resolve(Verdict::NotDone), _) => "resolve: not done",
        (Act::Cancel, false) => "cancel",
        (Act::Cancel, true) => "cancel by filter",
        (Act::Redeliver { may_act_twice: false }, false) => "redeliver",
        (Act::Redeliver { may_act_twice: true }, false) => "redeliver, may act twice",
        (Act::Redeliver { .. }, true) => "redeliver by filter",
    }
}

/// What was done keeps the rules of its verb.
fn judge_deed(
    deed: &Deed,
    before: Option<&Delivery>,
    after: Option<&Delivery>,
    folds: Folds,
) -> Result<(), &'static str> {
    let must = |holds: bool, rule: &'static str| if holds { Ok(()) } else { Err(rule) };
    let doubtful = before.is_some_and(|it| it.in_doubt || it.state == State::Uncertain);
    must(!(deed.by_filter && doubtful), "a filter touches nothing in doubt")?;
    let flies = before.is_some_and(|it| matches!(it.state, State::Sending | State::Asking));
    let fresh = after.is_some_and(|it| {
        let newer = before.is_none_or(|before| it.round == before.round + 1);
        it.state == State::Pending && it.attempts == 0 && it.asks == 0 && newer
    });
    match &deed.act {
        Act::Retry { may_act_twice } => {
            let parked = before.is_some_and(|it| it.state.is_parked());
            must(parked, "only what is parked is tried again")?;
            must(fresh, "a retry is pending in a new round")?;
            let doubt = before.is_some_and(|it| it.in_doubt);
            let stays = after.is_some_and(|it| it.in_doubt == doubt);
            must(stays, "a retry clears no doubt")?;
            // In doubt without a first send: a permission that was not used, and is no key's age.
            let dated = before.is_some_and(|it| it.first_sent_at.is_some());
            let may_be_safe = match folds {
                Folds::No => false,
                Folds::For(_) => dated,
                Folds::Ever => true,
            };
            must(!doubt || *may_act_twice || may_be_safe, "nobody allowed a repeat")
        }
        Act::Resolve(Verdict::Completed { .. }) => {
            must(before.is_some() && after.is_none(), "it ends what has not ended")
        }
        Act::Resolve(verdict) => {
            let sent = before.is_some_and(|it| it.state != State::Pending || it.in_doubt);
            must(!flies && sent, "not while it is in flight, nor before it was sent")?;
            if *verdict == Verdict::Rejected {
                return must(after.is_none(), "it ends");
            }
            let clear = after.is_some_and(|it| !it.in_doubt && it.first_sent_at.is_none());
            must(fresh && clear, "it is pending in a new round, not in doubt")
        }
        Act::Cancel => {
            let published = before.is_some_and(|it| it.state == State::Published);
            must(!flies && !published && !doubtful, "what may act is not cancelled")?;
            must(before.is_some() && after.is_none(), "it ends")
        }
        Act::Redeliver { .. } => {
            must(before.is_none() && fresh, "what has ended is pending again, in a new round")?;
            must(after.is_some_and(|it| !it.in_doubt && it.round > 1), "it is not in doubt")
        }
    }
}
