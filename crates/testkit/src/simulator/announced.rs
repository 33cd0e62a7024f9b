//! Whether what was parked was announced: once each time, unless its relay died before it heard.
//!
//! Guarantees: a parking that a process heard of in its life is owed. Does not: ask when.

use std::collections::BTreeMap;

use super::Broken;

/// A parking that is to be announced.
#[derive(Debug)]
struct Owed {
    id: String,
    pid: u64,
    /// When its process heard of it; `None`: not yet.
    heard_ms: Option<u64>,
}

/// The book of parkings and announcements.
#[derive(Debug, Default)]
pub(super) struct Announced {
    owed: Vec<Owed>,
    announced: BTreeMap<String, usize>,
    parked: BTreeMap<String, usize>,
}

impl Announced {
    /// It was parked, by whomever.
    pub(super) fn parked(&mut self, id: &str) {
        *self.parked.entry(id.to_owned()).or_default() += 1;
    }

    pub(super) fn was_parked(&self, id: &str) -> bool {
        self.parked.contains_key(id)
    }

    /// These were parked by a write of `pid`.
    pub(super) fn owes(&mut self, pid: u64, parked: &[String]) {
        let owed = |id: &String| Owed { id: id.clone(), pid, heard_ms: None };
        self.owed.extend(parked.iter().map(owed));
    }

    /// The process heard what its write did.
    pub(super) fn answered(&mut self, pid: u64, parked: &[String], at_ms: u64) {
        for id in parked {
            // An older one of which it was not known stays unheard.
            let of = |owed: &&mut Owed| owed.pid == pid && owed.id == *id;
            if let Some(owed) = self.owed.iter_mut().rfind(of) {
                owed.heard_ms = Some(at_ms);
            }
        }
    }

    /// The process came to its end at `local_ms` of its own: it cannot say what it had not heard.
    pub(super) fn died(&mut self, pid: u64, local_ms: u64) {
        let in_time = |owed: &Owed| owed.heard_ms.is_some_and(|heard| heard < local_ms);
        self.owed.retain(|owed| owed.pid != pid || in_time(owed));
    }

    /// A relay says so.
    pub(super) fn said(&mut self, id: &str) {
        *self.announced.entry(id.to_owned()).or_default() += 1;
    }

    /// Whether what is parked was announced as it should.
    pub(super) fn judge(&self) -> Result<(), Broken> {
        let rule = "what is parked is announced once";
        let times = |id: &str| self.announced.get(id).copied().unwrap_or(0);
        for (id, announced) in &self.announced {
            let parked = self.parked.get(id).copied().unwrap_or(0);
            if *announced > parked {
                let what = format!("{id}, parked {parked} times, was announced {announced} times");
                return Err(Broken::new(rule, what));
            }
        }
        for Owed { id, pid, heard_ms } in &self.owed {
            let heard = |other: &&Owed| other.id == *id && other.heard_ms.is_some();
            if heard_ms.is_some() && times(id) < self.owed.iter().filter(heard).count() {
                let what = format!("{id}, parked by relay {pid}, was not announced");
                return Err(Broken::new(rule, what));
            }
        }
        Ok(())
    }
}
