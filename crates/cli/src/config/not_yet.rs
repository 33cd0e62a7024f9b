//! Keys that the contract names and this version does not know yet: refused by name.
//!
//! Guarantees: such a key stops the command before anything is sent, and says so; it is never
//! ignored, and never offered where another key is misspelt. Does not: look at its value.

use serde::Deserializer;
use serde::de::Error;

/// What a refused key would have left: nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Absent;

macro_rules! refused_by_name {
    ($($key:ident: $what:literal),* $(,)?) => {
        $(
            /// Refuses the key of this name.
            pub(crate) fn $key<'de, D: Deserializer<'de>>(_: D) -> Result<Absent, D::Error> {
                Err(D::Error::custom(concat!(
                    "not yet: `", stringify!($key), "` (", $what,
                    ") is planned for a later version; remove it"
                )))
            }
        )*

        /// Every such key.
        pub(crate) const ALL: &[&str] = &[$(stringify!($key)),*];
    };
}

refused_by_name! {
    rate: "a limit of sends a second",
    concurrency: "a limit of sends in flight to one destination",
    on_parked: "what a parked command does to its lane",
}

/// The message about an unknown key, without the keys that would be refused in their turn.
pub(crate) fn without_absent(message: &str) -> String {
    let mut message = message.to_owned();
    for key in ALL {
        // They stand last in their table, so each has a comma before it.
        message = message.replace(&format!(", `{key}`"), "");
    }
    message
}
