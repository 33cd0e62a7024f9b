//! Keys that the contract names and this version does not know yet: refused by name.
//!
//! Guarantees: such a key stops the command before anything is sent, and says so; it is never
//! ignored. Does not: look at its value.

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

        #[cfg(test)]
        pub(crate) const ALL: &[&str] = &[$(stringify!($key)),*];
    };
}

refused_by_name! {
    api: "the HTTP API and its console",
    ask: "asking a receiver what became of a key",
    answers: "another meaning for a status",
    success: "which 2xx answers are a success",
    outcome: "an outcome read from the answer's body",
    key: "another header or form of the key",
    profile: "a set of rules for one kind of receiver",
    tls: "own certificates",
    proxy: "a proxy",
    rate: "a limit of sends a second",
    concurrency: "a limit of sends in flight to one destination",
    on_parked: "what a parked command does to its lane",
}
