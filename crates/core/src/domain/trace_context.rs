//! Which span of which trace something belongs to: the header `traceparent` of W3C Trace Context.
//!
//! Guarantees: what is parsed keeps every rule of the header, of later versions as far as this one
//! can know them; what is written is version 00. Does not: carry a `tracestate`.

use std::fmt;

/// The stored header that carries the context in which a command was recorded.
pub const STORED_HEADER: &str = "ce-traceparent";

/// How long a `traceparent` of version 00 is.
const LEN: usize = 55;
/// The flag of a span that is recorded.
const SAMPLED: u8 = 1;

/// A span of a trace, as others may name it.
///
/// Source: W3C Trace Context, level 1, section 3.2.
///
/// # Example
/// ```
/// use counterfoil_core::domain::TraceContext;
/// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let context = TraceContext::parse(text).unwrap();
/// assert_eq!(context.to_string(), text);
/// assert!(context.is_sampled());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: u128,
    span_id: u64,
    flags: u8,
}

impl TraceContext {
    /// The span `span_id` of the trace `trace_id`; `None` if either is zero, which names nothing.
    #[must_use]
    pub const fn new(trace_id: u128, span_id: u64, sampled: bool) -> Option<Self> {
        let flags = if sampled { SAMPLED } else { 0 };
        if trace_id == 0 || span_id == 0 {
            return None;
        }
        Some(Self { trace_id, span_id, flags })
    }

    /// Reads a `traceparent`; `None` if it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_matches([' ', '\t']);
        let (known, later) = text.split_at_checked(LEN)?;
        let mut parts = known.split('-');
        let version = hex(parts.next()?, 2)?;
        // A later version may say more, behind another hyphen; 255 is no version.
        let may_follow = version > 0 && version < 0xff && later.starts_with('-');
        if version == 0xff || !(later.is_empty() || may_follow) {
            return None;
        }
        let (trace_id, span_id) = (hex(parts.next()?, 32)?, hex(parts.next()?, 16)?);
        let flags = hex(parts.next()?, 2)?;
        let (span_id, flags) = (u64::try_from(span_id).ok()?, u8::try_from(flags).ok()?);
        let is_whole = parts.next().is_none();
        (is_whole && trace_id != 0 && span_id != 0).then_some(Self { trace_id, span_id, flags })
    }

    /// The trace.
    #[must_use]
    pub const fn trace_id(&self) -> u128 {
        self.trace_id
    }

    /// The span in it.
    #[must_use]
    pub const fn span_id(&self) -> u64 {
        self.span_id
    }

    /// The flags as they were said.
    #[must_use]
    pub const fn flags(&self) -> u8 {
        self.flags
    }

    /// Whether the span is recorded by whoever began it.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.flags & SAMPLED == SAMPLED
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

/// Exactly so many lower-case hexadecimal digits.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_right = text.len() == digits && text.bytes().all(is_hex);
    is_right.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_is_written_is_read_again() {
        let context = TraceContext::new(1, 2, true).unwrap();
        let text = context.to_string();
        assert_eq!(text, "00-00000000000000000000000000000001-0000000000000002-01");
        assert_eq!(TraceContext::parse(&text), Some(context));
        let dark = TraceContext::new(1, 2, false).unwrap();
        assert!(dark.to_string().ends_with("-00") && !dark.is_sampled());
        assert_eq!(TraceContext::new(0, 2, true), None);
        assert_eq!(TraceContext::new(1, 0, true), None);
    }

    #[test]
    fn a_later_version_may_say_more_and_blanks_around_it_do_no_harm() {
        let good = TraceContext::parse(GOOD).unwrap();
        assert_eq!(TraceContext::parse(&format!(" {GOOD}\t")), Some(good));
        let later = GOOD.replacen("00", "cc", 1);
        assert_eq!(TraceContext::parse(&later), Some(good));
        assert_eq!(TraceContext::parse(&format!("{later}-what-ever")), Some(good));
        // Flags that this version does not know are kept.
        let flags = TraceContext::parse(&GOOD.replace("-01", "-03")).unwrap();
        assert_eq!((flags.flags(), flags.is_sampled()), (3, true));
    }

    #[test]
    fn what_breaks_a_rule_is_no_context() {
        for bad in [
            "",
            "00-ab-cd-01",
            "münchen",
            &GOOD[1..],
            &GOOD.to_uppercase(),
            &GOOD.replacen("00", "ff", 1),
            &format!("{GOOD}-more"),
            &format!("{}x", GOOD.replacen("00", "cc", 1)),
            &GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &GOOD.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &GOOD.replace('-', "_"),
            &GOOD.replace("00f067aa0ba902b7", "+0f067aa0ba902b7"),
            &GOOD.replace("00f067aa0ba902b7-01", "00f067aa0ba902b-701"),
            &"é".repeat(28),
        ] {
            assert_eq!(TraceContext::parse(bad), None, "{bad:?}");
        }
    }
}
