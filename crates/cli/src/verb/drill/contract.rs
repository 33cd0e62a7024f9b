//! The three contracts of a drill: what the relays are told, and how the receiver behaves.
//!
//! Guarantees: the receiver keeps exactly what the relays are told, no more: without keys it acts
//! at every request that reaches it. Does not: judge what came of it.

use crate::args::Contract;

/// How long after the last lease "not there" counts. A request that was written before a kill can
/// wait in a socket or in the receiver's queue, which on a busy machine takes long.
const QUIET: &str = "3s";

impl Contract {
    /// The lines of the destination in the relays' configuration; the receiver is at `port`.
    pub(super) fn configuration(self, port: u16) -> String {
        match self {
            Self::Idempotent => "idempotent = { key_ttl = \"24h\" }".to_owned(),
            Self::None => "idempotent = false".to_owned(),
            Self::Askable => format!(
                "idempotent = false\n\
                 [destination.{destination}.ask]\n\
                 url = \"http://127.0.0.1:{port}/commands/{{command_id}}\"\n\
                 quiet = \"{QUIET}\"\n\
                 not_there = {{ status = 404, json = \"/error\", in = [\"no_such_key\"] }}",
                destination = super::order::DESTINATION,
            ),
        }
    }

    /// The flags that make the receiver so.
    pub(super) const fn receiver_flags(self) -> &'static [&'static str] {
        match self {
            Self::Idempotent => &[],
            Self::Askable => &["--no-keys"],
            Self::None => &["--no-keys", "--no-asking"],
        }
    }

    /// Whether the receiver's inbox is a book that an audit can read.
    pub(super) const fn has_inbox(self) -> bool {
        matches!(self, Self::Idempotent)
    }
}
