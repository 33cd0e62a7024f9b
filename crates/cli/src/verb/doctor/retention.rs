//! Retention: does a receiver keep its keys as long as the sender counts on them?
//!
//! Guarantees: each idempotent destination's contracts, configured and stored, are held against the
//! shortest time that any key of the receiver's book is kept; a book without keys is called not
//! known. Does not: look at a book that nobody names, but for the inbox of the store itself.

use std::collections::{BTreeMap, BTreeSet};

use counterfoil_core::domain::window::USED;
use counterfoil_core::domain::{Contract, Idempotent, Span};

use super::super::audit::{Kept, Retention};
use super::Seen;
use super::check::Check;
use super::destination::Stored;
use crate::config::destination::Way;
use crate::config::store_url::StoreUrl;
use crate::config::{DestinationSettings, duration};
use crate::exit::Failure;
use crate::output::time;

/// A database stamps a key a little later than the guard has read the time that it is kept until:
/// so much may be missing, a hundredth of `key_ttl` at most.
const LATE_MAX: Span = Span::from_secs(60);

/// The book that was named, and whom its receiver serves.
pub(super) struct Named<'a> {
    /// Where it is.
    pub(super) inbox: StoreUrl,
    /// The destinations; empty: all.
    pub(super) serves: &'a [String],
}

/// What a sender counts on.
struct Promise {
    /// Which of two contracts says so, for people; empty where they agree.
    whose: &'static str,
    contract: Contract,
    lease: Span,
}

/// A book that was looked at.
struct Book {
    /// Whose it is, for people.
    whose: &'static str,
    kept: Kept,
}

/// Compares both ends, of every destination that has a book; `lease` is that of a relay that does
/// not say otherwise.
///
/// # Errors
/// The named book cannot be read, or a named destination is not known.
pub(super) async fn checks(
    seen: &Seen,
    configured: &[DestinationSettings],
    lease: Span,
    (named, source): (Option<&Named<'_>>, &str),
) -> Result<Vec<Check>, Failure> {
    let names = configured.iter().map(|one| one.name.as_str());
    let names: BTreeSet<_> = names.chain(seen.stored.iter().map(|row| row.name.as_str())).collect();
    let kept = match named {
        None => None,
        Some(named) => {
            must_be_known(named.serves, &names)?;
            Some(Kept::read(&named.inbox, source).await?)
        }
    };
    let own: BTreeMap<_, _> = seen.own.iter().map(|(name, kept)| (name.as_str(), *kept)).collect();
    let mut checks = Vec::new();
    for name in names {
        let serves = named.map(|named| named.serves).unwrap_or_default();
        let is_named = serves.iter().any(|one| one == name);
        let by_flag = kept.filter(|_| serves.is_empty() || is_named);
        let by_flag = by_flag.map(|kept| Book { whose: "the receiver", kept });
        let by_itself =
            own.get(name).map(|kept| Book { whose: "the inbox of this store", kept: *kept });
        let Some(book) = by_flag.or(by_itself) else { continue };
        let promises = promises(name, seen, configured, lease);
        let found = promises.iter().filter_map(|promise| judge(&book, promise, source));
        let before = checks.len();
        checks.extend(found.map(|check| check.of(name)));
        if is_named && checks.len() == before {
            checks.push(Check::note("retention", NOTHING).of(name));
        }
    }
    if checks.is_empty() && kept.is_some() {
        checks.push(Check::note("retention", NOTHING));
    }
    Ok(checks)
}

const NOTHING: &str = "no contract here counts on the receiver's keys: nothing to compare";

/// A mistyped name would be compared with nothing, and so be well.
fn must_be_known(serves: &[String], names: &BTreeSet<&str>) -> Result<(), Failure> {
    match serves.iter().find(|name| !names.contains(name.as_str())) {
        Some(name) => {
            let text = format!(
                "--destination {name}: neither configuration nor store has a contract of it"
            );
            Err(Failure::could_not_run(text).help("see the names with `counterfoil status`"))
        }
        None => Ok(()),
    }
}

/// What the contracts of a destination say: one, where they agree on what counts here.
fn promises(
    name: &str,
    seen: &Seen,
    configured: &[DestinationSettings],
    lease: Span,
) -> Vec<Promise> {
    let settings = configured.iter().find(|one| one.name.as_str() == name);
    if settings.is_some_and(|settings| matches!(settings.way, Way::Log { .. })) {
        return Vec::new();
    }
    let lease = settings.map_or(lease, |settings| settings.terms.pace.lease);
    let given = settings.map(|settings| &settings.terms.contract);
    let stored = seen.stored.iter().find(|row| row.name == name).and_then(Stored::contract);
    let agree = |stored: &Contract| {
        given.is_some_and(|given| {
            given.idempotent == stored.idempotent && given.give_up_after == stored.give_up_after
        })
    };
    let stored = stored.filter(|stored| !agree(stored));
    let whose = if stored.is_some() { "by the configured contract, " } else { "" };
    let given = given.map(|given| Promise { whose, contract: given.clone(), lease });
    let whose = "by the stored contract, ";
    let stored = stored.map(|contract| Promise { whose, contract, lease });
    given.into_iter().chain(stored).collect()
}

/// One contract against one book; `None` where the contract counts on no key.
fn judge(book: &Book, promise: &Promise, source: &str) -> Option<Check> {
    let promised = match promise.contract.idempotent {
        Idempotent::No => return None,
        Idempotent::Forever => None,
        Idempotent::Window { key_ttl } => Some(key_ttl),
    };
    Some(match book.kept.retention() {
        Retention::NotKnown => not_known(book, promise, promised, source),
        Retention::ForEver => {
            let (whose, keys) = (book.whose, seen(book));
            Check::well("retention", format!("{whose} keeps its keys for ever ({keys})"))
        }
        Retention::Lasts(kept) => finite(book, promise, promised, kept),
    })
}

/// How a time that keys are kept stands to a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Well,
    /// Only what is used of `key_ttl` is covered.
    Narrow,
    TooShort,
}

/// `tried` is how long a relay may send one command again, its last lease included.
fn fit(kept: Span, promised: Option<Span>, tried: Span) -> Fit {
    let Some(key_ttl) = promised else { return Fit::TooShort };
    let late = LATE_MAX.min(key_ttl.times(1, 100));
    let used = |span: Span| span.times(USED.0, USED.1);
    if tried > used(kept.plus(late)) || used(key_ttl) > kept {
        return Fit::TooShort;
    }
    if kept.plus(late) < key_ttl { Fit::Narrow } else { Fit::Well }
}

fn finite(book: &Book, promise: &Promise, promised: Option<Span>, kept: Span) -> Check {
    let tried = promise.contract.give_up_after.plus(promise.lease);
    let text = format!(
        "{}{} keeps its keys {} at the shortest ({}), {}, and a relay tries for {}",
        promise.whose,
        book.whose,
        time::about(whole(kept)),
        seen(book),
        said(promised),
        time::about(tried)
    );
    match fit(kept, promised, tried) {
        Fit::Well => Check::well("retention", text),
        Fit::Narrow => {
            let text = format!(
                "{text}: less than was promised; 95 % of key_ttl are used, which is covered, with \
                 nothing to spare for clocks that differ"
            );
            Check::note("retention", text).help(way_out(promised, tried, kept))
        }
        Fit::TooShort => {
            let text = format!("{text}: a repeat after the key is forgotten acts twice");
            Check::wrong("retention", text, way_out(promised, tried, kept))
        }
    }
}

fn not_known(book: &Book, promise: &Promise, promised: Option<Span>, source: &str) -> Check {
    let usual = counterfoil_inbox::RETENTION;
    let tried = promise.contract.give_up_after.plus(promise.lease);
    let usual_fits = match fit(usual, promised, tried) {
        Fit::Well => "that would do",
        Fit::Narrow | Fit::TooShort => "that would be too short",
    };
    let text = format!(
        "{}{} holds no key of {source}: how long it keeps them is not known. The guard and \
         `counterfoil receiver` keep them {} unless told otherwise; {}: {usual_fits}",
        promise.whose,
        book.whose,
        duration::show(usual),
        said(promised)
    );
    Check::note("retention", text).help(
        "look again when it has taken a command; if it has, then under another source, or into \
         another store",
    )
}

fn way_out(promised: Option<Span>, tried: Span, kept: Span) -> String {
    let less = format!(
        "promise less, idempotent = {{ key_ttl = \"{}\" }}, with retry.give_up_after + lease \
         within 95 % of it",
        duration::show(whole(kept))
    );
    let Some(key_ttl) = promised else {
        return format!("have the receiver keep its keys for ever (expires_at NULL); or {less}");
    };
    let needed = key_ttl.max(whole(tried.times(USED.1, USED.0)));
    format!(
        "have the receiver keep its keys {} (`counterfoil receiver --retention`, the retention \
         given to the guard, expires_at in SQL); those taken before keep their time until they \
         are removed. Or {less}",
        duration::show(needed)
    )
}

fn said(promised: Option<Span>) -> String {
    match promised {
        None => "idempotent is \"forever\"".into(),
        Some(key_ttl) => format!("key_ttl is {}", duration::show(key_ttl)),
    }
}

fn seen(book: &Book) -> String {
    match book.kept.keys() {
        1 => "1 key seen".into(),
        keys => format!("{keys} keys seen"),
    }
}

/// In whole seconds, rounded up, so that what is a millisecond short is not shown as less.
fn whole(span: Span) -> Span {
    Span::from_secs(span.as_micros().saturating_add(999_999) / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_well_narrow_or_too_short() {
        let (day, hours) =
            (Some(Span::from_secs(86_400)), |hours: i64| Span::from_secs(hours * 3600));
        let short = |span: Span, micros| span.minus(Span::from_micros(micros));
        let tried = hours(20);
        assert_eq!(fit(hours(24), day, tried), Fit::Well);
        assert_eq!(fit(short(hours(24), 60_000_000), day, tried), Fit::Well, "stamped late");
        assert_eq!(fit(short(hours(24), 60_000_001), day, tried), Fit::Narrow);
        assert_eq!(fit(Span::from_secs(82_080), day, tried), Fit::Narrow, "95 %");
        assert_eq!(fit(Span::from_secs(82_079), day, tried), Fit::TooShort);
        assert_eq!(fit(hours(24), day, hours(23)), Fit::TooShort, "it is tried too long");
        assert_eq!(fit(hours(24_000), None, tried), Fit::TooShort, "for ever is longer");
    }
}
