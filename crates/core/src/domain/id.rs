//! Names that travel: command ids, streams, destinations, kinds and ordering keys.
//!
//! Guarantees: a value of these types is 1–255 bytes of UTF-8 (a stream 1–200) without control
//! characters, the same rule as the SQL guards. Does not: make ids up; the caller names the intent.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a text is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdRefused {
    /// Empty.
    #[error("{what} is empty; give 1 to {max} bytes of UTF-8")]
    Empty {
        /// Which name it is.
        what: &'static str,
        /// The most bytes it may have.
        max: usize,
    },
    /// Too long.
    #[error("{what} has {len} bytes; at most {max} are allowed, so shorten it")]
    TooLong {
        /// Which name it is.
        what: &'static str,
        /// How many bytes it has.
        len: usize,
        /// The most bytes it may have.
        max: usize,
    },
    /// A control character.
    #[error(
        "{what} has the control character U+{code:04X} at byte {at}; \
         remove it (names travel in headers and logs)"
    )]
    Control {
        /// Which name it is.
        what: &'static str,
        /// The character's code.
        code: u32,
        /// At which byte it stands.
        at: usize,
    },
    /// Bytes that are no UTF-8.
    #[error("{what} is not UTF-8; write it as text")]
    NotUtf8 {
        /// Which name it is.
        what: &'static str,
    },
}

fn check(what: &'static str, max: usize, text: &str) -> Result<(), IdRefused> {
    if text.is_empty() {
        return Err(IdRefused::Empty { what, max });
    }
    if text.len() > max {
        return Err(IdRefused::TooLong { what, len: text.len(), max });
    }
    match text.bytes().position(|byte| byte < 0x20 || byte == 0x7f) {
        Some(at) => Err(IdRefused::Control { what, code: u32::from(text.as_bytes()[at]), at }),
        None => Ok(()),
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $max:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The most bytes it may have.
            pub const MAX_BYTES: usize = $max;

            /// Takes `text` if it keeps the rule.
            ///
            /// # Errors
            /// [`IdRefused`] names the rule that is broken.
            pub fn new(text: impl Into<String>) -> Result<Self, IdRefused> {
                let text = text.into();
                check($what, $max, &text)?;
                Ok(Self(text))
            }

            /// Takes stored bytes if they keep the rule.
            ///
            /// # Errors
            /// [`IdRefused`], also for bytes that are no UTF-8.
            pub fn from_bytes(bytes: &[u8]) -> Result<Self, IdRefused> {
                let text =
                    std::str::from_utf8(bytes).map_err(|_| IdRefused::NotUtf8 { what: $what })?;
                Self::new(text)
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdRefused;
            fn try_from(text: String) -> Result<Self, IdRefused> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = IdRefused;
            fn try_from(text: &str) -> Result<Self, IdRefused> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    };
}

name!(
    /// The name of one intent, for ever: `{stream}:{seq}:{index}` or the caller's business id.
    CommandId, "command id", 255
);
name!(
    /// The name of a sequence of events.
    Stream, "stream", 200
);
name!(
    /// To whom a command goes; a table `[destination.NAME]` of the relay's configuration.
    Destination, "destination", 255
);
name!(
    /// What kind of command or event it is, such as `order.paid`.
    Kind, "kind", 255
);
name!(
    /// Commands of one destination with the same key are delivered in commit order.
    OrderingKey, "ordering key", 255
);

impl CommandId {
    /// The id of the command at `index` of the decision whose last event has `seq`.
    ///
    /// # Errors
    /// Never for a valid stream: 200 bytes and two numbers stay below the limit.
    pub fn of_decision(stream: &Stream, seq: i64, index: usize) -> Result<Self, IdRefused> {
        Self::new(format!("{stream}:{seq}:{index}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_counted_in_bytes_and_controls_are_refused() {
        assert!(CommandId::new("订单-1 📦").is_ok());
        assert!(CommandId::new("é".repeat(127)).is_ok());
        assert_eq!(
            CommandId::new("é".repeat(128)),
            Err(IdRefused::TooLong { what: "command id", len: 256, max: 255 })
        );
        assert_eq!(Kind::new("a\nb"), Err(IdRefused::Control { what: "kind", code: 10, at: 1 }));
        assert!(matches!(Stream::new(""), Err(IdRefused::Empty { .. })));
        assert!(matches!(Stream::new("s".repeat(201)), Err(IdRefused::TooLong { .. })));
        assert!(matches!(CommandId::from_bytes(&[0xff]), Err(IdRefused::NotUtf8 { .. })));
    }

    #[test]
    fn the_longest_stream_still_makes_an_id() {
        let stream = Stream::new("s".repeat(200)).unwrap();
        assert!(CommandId::of_decision(&stream, i64::MAX, usize::MAX).is_ok());
    }
}
