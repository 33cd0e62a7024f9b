//! The families of metrics: their names, types, labels and what they mean.
//!
//! Guarantees: this is the one list of them; `docs/metrics.md` is held to it by a test. Does not:
//! hold values.

/// What kind of number a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It only grows, while the process lives.
    Counter,
    /// It is as it is now.
    Gauge,
    /// Lengths of time by bucket.
    Histogram,
}

impl Kind {
    /// The name, as Prometheus has it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// One family.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) labels: &'static [&'static str],
    pub(crate) help: &'static str,
}

macro_rules! families {
    ($(
        $(#[$doc:meta])*
        $id:ident: $kind:ident $name:literal [$($label:literal),*] $help:literal;
    )+) => {
        $($(#[$doc])* pub(crate) const $id: Family = Family {
            name: concat!("counterfoil_", $name),
            kind: Kind::$kind,
            labels: &[$($label),*],
            help: $help,
        };)+

        /// All, in the order in which they are served.
        #[cfg(test)]
        pub(crate) const FAMILIES: &[&Family] = &[$(&$id),+];
    };
}

families! {
    BUILD: Gauge "build_info" ["version"] "1, with the version of this program.";
    ATTEMPTS: Counter "attempts_total" ["destination", "outcome"]
        "Sends that this relay settled, by what they came to.";
    DURATION: Histogram "attempt_duration_seconds" ["destination"]
        "How long the sends of this relay took.";
    QUESTIONS: Counter "questions_total" ["destination", "answer"]
        "Questions about doubtful commands that this relay settled, by their answer.";
    CLAIMS: Counter "claims_total" [] "Commands that this relay claimed.";
    TAKEOVERS: Counter "takeovers_total" []
        "Claimed commands that were taken over from a lease that ran out.";
    HANDED_BACK: Counter "handed_back_total" [] "Claimed commands that were given back unsent.";
    LATE: Counter "late_settles_total" []
        "Attempts that ended after their lease had gone to another.";
    LEASES_LOST: Counter "leases_lost_total" []
        "Leases that another took while the handler in this process was at work.";
    PARKED: Counter "parked_total" ["destination", "state"]
        "Commands that this relay parked: they wait for a person.";
    EXPIRED: Counter "expired_total" ["destination"] "Commands that this relay ended unsent.";
    BREAKER_OPENED: Counter "breaker_opened_total" ["destination"]
        "How often the breaker of this relay opened.";
    MISCONFIGURED: Counter "misconfigured_total" ["destination"]
        "How often a destination began to answer that it is set up wrongly.";
    PAUSES: Counter "pauses_total" ["destination"]
        "How often this relay paused a destination that said that it is gone.";
    STORE_FAILURES: Counter "store_failures_total" [] "Writes and reads of this relay that failed.";
    WORKERS: Gauge "workers" [] "How many attempts this relay may have under way at once.";
    IN_FLIGHT: Gauge "attempts_in_flight" ["destination"]
        "Attempts and questions that this relay has under way.";
    BREAKER_OPEN: Gauge "breaker_open" ["destination"]
        "1 while the breaker of this relay holds claims back, else 0.";
    STORE_UP: Gauge "store_up" [] "1 if the store told its counts for this page, else 0.";
    OPEN: Gauge "open_commands" ["destination", "state"]
        "Commands of the store that have not ended, by state.";
    ENDED: Gauge "ended_commands" ["destination", "outcome"]
        "Commands of the store that have ended, by outcome. A redelivery takes one away.";
    OLDEST_DUE: Gauge "oldest_due_age_seconds" ["destination"]
        "How long the command that has been due for longest has been due; 0 if none is.";
    UNSERVED: Gauge "unserved_commands" ["destination"]
        "Open commands of destinations that the configuration does not name.";
    PAUSED: Gauge "destination_paused" ["destination"]
        "1 while the destination is paused for all relays, else 0.";
    QUARANTINED: Gauge "quarantined_workflows" []
        "Workflows of the store that are quarantined: each waits for a person.";
    WAITING_STARTS: Gauge "waiting_starts" []
        "Starts of workflows that no runner has decided.";
    OLDEST_START: Gauge "oldest_waiting_start_age_seconds" []
        "How long the start that has waited for longest has waited; 0 if none does.";
    ORPHANS: Gauge "orphaned_inputs" []
        "Signals and cancels whose workflow was never started.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_the_convention() {
        for family in FAMILIES {
            let name = family.name;
            assert_eq!(family.kind == Kind::Counter, name.ends_with("_total"), "{name}");
            assert_eq!(family.kind == Kind::Histogram, name.ends_with("duration_seconds"));
            assert!(!family.help.contains(['\n', '\\']), "{name}");
        }
    }
}
