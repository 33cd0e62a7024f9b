//! How long a receiver keeps its keys, as the rows of its book say.
//!
//! Guarantees: the shortest time of any key counts, also of one that is over and not removed yet.
//! Does not: know what was removed, or what the receiver's program is told to do from now on.

use counterfoil_core::domain::contract::GIVE_UP_AFTER;
use counterfoil_core::domain::{Contract, Idempotent, Micros, Span};

use super::inbox_file::InboxFile;
use super::inbox_table::InboxTable;
use crate::config::duration;
use crate::config::store_url::StoreUrl;
use crate::exit::Failure;
use crate::output::time;

/// A database stamps a key a little later than the guard has read the time that it is kept until:
/// a hundredth of what is promised may be missing.
const LATE: (i64, i64) = (1, 100);

/// The keys of one source in a book, and how long they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verb) struct Kept {
    /// How many stand.
    keys: i64,
    /// How many of them are kept for ever.
    for_ever: i64,
    /// The shortest time that one of the others is kept.
    shortest: Option<Span>,
}

/// What is known of a book's retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verb) enum Retention {
    /// Nothing: it holds no key.
    NotKnown,
    /// Each key is kept so long at least.
    Lasts(Span),
    /// Each key is kept for ever.
    ForEver,
}

impl Kept {
    /// So many keys, of which so many are kept for ever, and the others `shortest` microseconds at
    /// least.
    pub(in crate::verb) fn new(keys: i64, for_ever: i64, shortest: Option<i64>) -> Self {
        Self { keys, for_ever, shortest: shortest.map(Span::from_micros) }
    }

    /// Reads the inbox of a store.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub(in crate::verb) async fn read(url: &StoreUrl, source: &str) -> Result<Self, Failure> {
        match url {
            StoreUrl::Sqlite(path) => InboxFile::open(path, source)?.kept(),
            StoreUrl::Postgres(url) => InboxTable::open(url, source).await?.kept().await,
        }
    }

    /// How many keys stand.
    pub(in crate::verb) const fn keys(self) -> i64 {
        self.keys
    }

    /// What all of them together say.
    pub(in crate::verb) const fn retention(self) -> Retention {
        match self.shortest {
            Some(shortest) => Retention::Lasts(shortest),
            None if self.keys > 0 && self.for_ever == self.keys => Retention::ForEver,
            None => Retention::NotKnown,
        }
    }

    /// What is said where one of the keys is kept shorter than a destination's contract counts on.
    pub(super) fn too_short(self, name: &str, contract: &Contract) -> Option<String> {
        let Retention::Lasts(shortest) = self.retention() else { return None };
        let tried = contract.give_up_after;
        let what = match contract.idempotent {
            Idempotent::No => return None,
            Idempotent::Forever => "idempotent is \"forever\"".to_owned(),
            Idempotent::Window { key_ttl }
                if shortest.plus(key_ttl.times(LATE.0, LATE.1)) < key_ttl =>
            {
                format!("key_ttl is {}", duration::show(key_ttl))
            }
            Idempotent::Window { .. } if shortest < tried => {
                format!("a relay tries for {}", time::about(tried))
            }
            Idempotent::Window { .. } => return None,
        };
        let kept = match shortest.as_micros() {
            ..1_000_000 => "less than a second".to_owned(),
            _ => time::about(shortest),
        };
        Some(format!(
            "{name}: a key of the receiver is kept {kept}, and {what}: an effect that it forgot is \
             not found, and a repeat acts twice; see `counterfoil doctor --inbox`"
        ))
    }

    /// From when on the receiver must still know a key: its shortest retention ago, less the time
    /// that a command may have been tried before it ended. `None`: it keeps its keys for ever.
    pub(super) fn remembers_since(self, now: Micros) -> Option<Micros> {
        let retention = match self.retention() {
            Retention::ForEver => return None,
            Retention::Lasts(shortest) => shortest,
            // An inbox without any key may have forgotten all that is older than usual.
            Retention::NotKnown => counterfoil_inbox::RETENTION,
        };
        let tried = GIVE_UP_AFTER.min(retention.times(1, 2));
        let back = retention.as_micros() - tried.as_micros();
        Some(Micros::new(now.get().saturating_sub(back)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_held_to_its_shortest_retention() {
        let now = Micros::new(2_000_000_000_000_000);
        let hour = 3_600_000_000;
        let ago = |keys, for_ever, shortest: Option<i64>| {
            let kept = Kept::new(keys, for_ever, shortest.map(|hours| hours * hour));
            kept.remembers_since(now).map(|since| now.since(since).as_micros() / hour)
        };
        assert_eq!(ago(5, 5, None), None, "all are kept for ever");
        assert_eq!(ago(5, 0, Some(100)), Some(80));
        assert_eq!(ago(5, 1, Some(10)), Some(5));
        assert_eq!(ago(0, 0, None), Some(7 * 24 - 20));
    }
}
