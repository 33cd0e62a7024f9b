//! What must hold when the first byte of an attempt leaves, when it arrives, and when it acts.
//!
//! Guarantees: what may act a second time was allowed by a person, by name and for this round.
//! Does not: judge what the store says; see `watch`.

use counterfoil_core::domain::{Micros, Token};

use super::Broken;
use super::plan::Folds;
use super::request::Sending;
use super::site::Site;
use super::world::World;

/// What must be left of a lease when an attempt ends, in milliseconds.
const MARGIN_MS: u64 = 2_000;

impl World<'_> {
    pub(super) fn judge_first_byte(&mut self, sending: &Sending) -> Result<(), Broken> {
        let Sending { site: place, id, not_before, began, .. } = sending;
        let token = sending.token.get();
        let site = self.plan.sites[*place].clone();
        if self.sent.get(id).is_some_and(|sent| sent.contains(&token)) {
            return Err(Broken::new("one claim is one send", format!("{id}, token {token}")));
        }
        if self.watch.meant(id).is_none_or(|meant| meant.body != sending.body) {
            return Err(Broken::new("the bytes travel as committed", id.clone()));
        }
        let is_early = |at: Micros| *began < at;
        if not_before.is_some_and(is_early) {
            return Err(Broken::new("nothing is sent before its time", id.clone()));
        }
        let Some(granted) = self.watch.granted(id, sending.token) else {
            return Err(Broken::new("nothing is sent that is not claimed", id.clone()));
        };
        // A request may live as long as its lease.
        let until = granted + site.lease_ms;
        if self.may_act_again(*place, id, until) {
            if !self.watch.said.may_begin(id, token) {
                let rule = "nothing is sent again that could act twice";
                let what = format!("{id}, token {token}, at {:?}", site.kind);
                return Err(Broken::new(rule, what));
            }
            self.coverage.count("sends that a person allowed to act twice");
        }
        let timeout = site.timeout_ms.unwrap_or(0);
        let latest = granted + site.lease_ms - MARGIN_MS - timeout;
        if !site.has_gap && self.now_ms > latest {
            let late = self.now_ms - latest;
            let what = format!("{id}, token {token}, {late} ms too late");
            return Err(Broken::new("no first byte leaves when its lease is spent", what));
        }
        self.judge_lane_byte(id, token, &site)
    }

    /// A request leaves that may act, unless it is lost.
    pub(super) fn puts_down(&mut self, place: usize, id: &str, token: i64) {
        let folds = self.plan.sites[place].folds;
        let granted = self.watch.granted(id, Token::new(token)).unwrap_or(self.now_ms);
        if self.may_act_again(place, id, granted + self.plan.sites[place].lease_ms) {
            self.watch.said.begins(id, token, folds != Folds::No);
        }
        if folds == Folds::No {
            self.watch.said.lapsed(id);
        }
    }

    /// Whether a request that may live until then could act though another did, or may.
    fn may_act_again(&self, place: usize, id: &str, until: u64) -> bool {
        let receiver = &self.receivers[place];
        if self.watch.meant(id).is_some_and(|meant| meant.is_refused) {
            return false;
        }
        match self.plan.sites[place].folds {
            Folds::Ever => false,
            Folds::No => receiver.count(id) + self.under_way(place, id) > 0,
            Folds::For(_) => receiver.remembers_until(id).is_some_and(|known| known < until),
        }
    }

    /// While a command of a lane is in flight no other of it is sent: but by a sender that was
    /// frozen, for a command that a person ended meanwhile, or once more.
    fn judge_lane_byte(&mut self, id: &str, token: i64, site: &Site) -> Result<(), Broken> {
        let Some(other) = self.watch.flies_beside(id) else { return Ok(()) };
        let is_repeat = self.sent.get(id).is_some_and(|sent| !sent.is_empty());
        if site.has_gap || is_repeat || self.watch.said.is_touched(id) {
            self.coverage.count("late first bytes beside another of the lane");
            return Ok(());
        }
        let what = format!("{id}, token {token}, is sent while {other} is in flight");
        Err(Broken::new("no request of a lane begins beside another", what))
    }

    /// A receiver sees `a a b`, never `b a` where both were sent once.
    pub(super) fn judge_arrival(&mut self, place: usize, id: &str, token: i64) {
        let Some((lane, key_seq, n)) = self.watch.place_of(id) else { return };
        let granted = self.watch.granted_to(n, token).unwrap_or(0);
        let is_late = self.now_ms > granted + self.plan.sites[place].lease_ms;
        let once = |id: &str| self.sent.get(id).is_some_and(|sent| sent.len() == 1);
        for later in self.arrivals.arrive(lane, key_seq, id) {
            self.coverage.count("arrivals behind a later one of the lane");
            let excused = is_late || self.watch.said.is_touched(id) || self.watch.was_parked(id);
            if !excused && once(id) && once(&later) {
                let what = format!("{id} arrives after {later}");
                return self.breaks(Broken::new("a lane never goes backwards", what));
            }
        }
    }

    /// A receiver acted: once a command, and once more for each time that a person allowed it.
    pub(super) fn acted(&mut self, place: usize, id: &str, token: i64) {
        self.coverage.count("effects");
        self.note_effect(place, id);
        let count = self.receivers[place].count(id);
        let before = self.watch.said.past(id);
        let is_allowed = self.watch.said.acted(id, token, count);
        let Site { kind, folds, .. } = &*self.plan.sites[place];
        if !is_allowed || (count > 1 && *folds == Folds::Ever) {
            let rule = match folds {
                Folds::No => "a receiver without keys acts at most once a command",
                Folds::Ever | Folds::For(_) => "a receiver that folds keys acts at most once a key",
            };
            return self.breaks(Broken::new(rule, format!("{id} acted {count} times at {kind:?}")));
        }
        if count > 1 {
            self.coverage.count("second acts that a person allowed");
        }
        if self.watch.said.past(id) > before {
            // An attempt of a round that a person closed may say so, too.
            self.watch.contradicted.insert(id.to_owned());
            return self.coverage.count("acts that a person had closed");
        }
        if let Err(broken) = self.watch.judge_effect(id, &self.app) {
            self.breaks(broken);
        }
    }
}
