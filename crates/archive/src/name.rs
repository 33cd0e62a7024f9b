//! The names of files: they sort by time, and never collide.
//!
//! Guarantees: a name is time, store and range of `n`, or of lines where it holds events; what is
//! no such name is not ours. Does not: look whether a file stands.

use counterfoil_core::domain::{Digest, Micros};

/// Ends the name of a file with lines of commands.
pub(crate) const LINES: &str = ".jsonl.zst";
/// Ends the name of a file with lines of events.
pub(crate) const EVENTS: &str = ".events.jsonl.zst";
/// Ends the name of the manifest of one.
pub(crate) const EVENTS_MANIFEST: &str = ".events.manifest.json";
/// Ends the name of a manifest.
pub(crate) const MANIFEST: &str = ".manifest.json";
/// Ends the name of the manifest that a file gets once it is rewritten.
pub(crate) const NEXT: &str = ".manifest.next.json";
/// Ends the name of an erasure that is under way.
pub(crate) const INTENT: &str = ".erase.json";
/// Ends the name of a file that is being written.
pub(crate) const PART: &str = ".part";

/// All ends of names that have a stem.
const ENDS: [&str; 5] = [LINES, MANIFEST, NEXT, EVENTS, EVENTS_MANIFEST];

/// How many hexadecimal digits of the store's digest a name holds.
const STORE_DIGITS: usize = 8;
const DAY: i64 = 86_400_000_000;

/// The store's part of a name: the first digits of the SHA-256 of its source.
pub(crate) fn store(source: &str) -> String {
    let mut digits = Digest::of(source.as_bytes()).to_hex();
    digits.truncate(STORE_DIGITS);
    digits
}

/// The stem of a file that was begun at `at` and holds `first` to `last`.
pub(crate) fn stem(at: Micros, store: &str, (first, last): (i64, i64)) -> String {
    format!("{}-{store}-{first}-{last}", time(at))
}

/// Of a name with this end, what stands before it, if it is one of ours.
pub(crate) fn stem_of<'n>(name: &'n str, end: &str) -> Option<&'n str> {
    name.strip_suffix(end).filter(|stem| is_stem(stem))
}

/// Whether it is the name of an erasure that is under way: the digest of its command's id.
pub(crate) fn is_intent(name: &str) -> bool {
    name.strip_suffix(INTENT).is_some_and(|id| Digest::from_hex(id).is_some())
}

/// Whether it is the name of one of our files while it is written.
pub(crate) fn is_part(name: &str) -> bool {
    let Some(whole) = name.strip_suffix(PART) else { return false };
    has_stem(whole) || is_intent(whole)
}

/// Whether it is the name of work that is under way, or was cut short.
pub(crate) fn is_under_way(name: &str) -> bool {
    is_part(name) || is_intent(name) || stem_of(name, NEXT).is_some()
}

/// Whether it looks like one of ours, by its end, and is none.
pub(crate) fn is_strange(name: &str) -> bool {
    let looks = ENDS.iter().any(|end| name.ends_with(end)) && !has_stem(name);
    looks || (name.ends_with(INTENT) && !is_intent(name))
}

fn has_stem(name: &str) -> bool {
    ENDS.iter().any(|end| stem_of(name, end).is_some())
}

/// The store's part of a stem.
pub(crate) fn store_of(stem: &str) -> Option<&str> {
    stem.split('-').nth(1)
}

fn is_stem(stem: &str) -> bool {
    let parts: Vec<&str> = stem.split('-').collect();
    let [time, store, first, last] = parts[..] else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    time.len() == "20261130T021213.000001Z".len()
        && time.starts_with(|first: char| first.is_ascii_digit())
        && time.ends_with('Z')
        && store.len() == STORE_DIGITS
        && digits(first)
        && digits(last)
}

/// `20261130T021213.000001Z`: the basic form of ISO 8601, UTC.
fn time(at: Micros) -> String {
    let (days, rest) = (at.get().div_euclid(DAY), at.get().rem_euclid(DAY));
    let (year, month, day) = date(days);
    let (secs, micros) = (rest / 1_000_000, rest % 1_000_000);
    let (hour, minute, second) = (secs / 3600, secs / 60 % 60, secs % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{micros:06}Z")
}

/// Year, month and day of a day counted from 1970-01-01, by the Gregorian calendar: years begin
/// in March here, so that the leap day is the last of its year.
const fn date(days: i64) -> (i64, i64, i64) {
    const FOUR_CENTURIES: i64 = 146_097;
    let shifted = days + 719_468;
    let era = shifted.div_euclid(FOUR_CENTURIES);
    let of_era = shifted.rem_euclid(FOUR_CENTURIES);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_a_calendar_has_them() {
        let at = |micros| time(Micros::new(micros));
        assert_eq!(at(0), "19700101T000000.000000Z");
        assert_eq!(at(951_782_400_000_000), "20000229T000000.000000Z");
        assert_eq!(at(1_764_421_200_000_001), "20251129T130000.000001Z");
        assert_eq!(at(1_767_225_599_999_999), "20251231T235959.999999Z");
        assert_eq!(at(Micros::LATEST.get()), "22861120T174639.999999Z");
    }

    #[test]
    fn names_sort_by_time_and_are_known_again() {
        let store = store("urn:test");
        let early = stem(Micros::new(1_764_421_200_000_001), &store, (99, 100));
        let late = stem(Micros::new(1_764_421_200_000_002), &store, (7, 8));
        assert!(early < late);
        let name = format!("{late}{LINES}");
        assert_eq!(stem_of(&name, LINES), Some(late.as_str()));
        assert_eq!(store_of(&late), Some(store.as_str()));
        let part = format!("{name}{PART}");
        assert!(is_part(&part) && is_under_way(&part) && !is_strange(&part));
        for end in [EVENTS, EVENTS_MANIFEST] {
            let events = format!("{late}{end}");
            assert_eq!(stem_of(&events, end), Some(late.as_str()));
            assert!(!is_strange(&events) && is_part(&format!("{events}{PART}")), "{events}");
            for other in [LINES, MANIFEST, NEXT] {
                assert_eq!(stem_of(&events, other), None, "it is none of commands");
            }
        }
        let intent = format!("{}{INTENT}", Digest::of(b"c-1"));
        assert!(is_intent(&intent) && is_part(&format!("{intent}{PART}")));
        for other in ["gdpr.erase.json", "a.manifest.next.json", "a.jsonl.zst", "a.manifest.json"] {
            assert!(is_strange(other) && !is_under_way(other), "{other}");
        }
        for other in ["upload.part", "gdpr.erase.json.part", "a.jsonl.zst.part", "notes.txt"] {
            assert!(!is_strange(other) && !is_under_way(other), "{other}");
        }
        for other in ["a.jsonl.zst", ".jsonl.zst", "20261130-1-2-3.jsonl.zst", "notes.txt"] {
            assert_eq!(stem_of(other, LINES), None, "{other}");
        }
    }
}
