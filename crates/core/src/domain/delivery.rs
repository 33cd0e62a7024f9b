//! The small mutable row that says how far a command is.
//!
//! Guarantees: states are an enum, each with its stored name; machine-owned states are told from
//! parked ones. Does not: change; see `transition`.

use super::lease::Token;
use super::time::Micros;

/// How far an open command is. Ended commands have a receipt instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Waits for its due time.
    Pending,
    /// Under a lease, being sent.
    Sending,
    /// In doubt; the receiver is asked (leased), or will be (not leased).
    Asking,
    /// Sent and accepted; waits for its receipt.
    Published,
    /// Gave up, or refused: waits for a person. Not in doubt.
    Dead,
    /// In doubt, and no machine way is left: waits for a person.
    Uncertain,
    /// The receiver knows the key with other content: waits for a person.
    Conflict,
}

impl State {
    /// Every state, in the order of the design's picture.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Sending,
        Self::Asking,
        Self::Published,
        Self::Dead,
        Self::Uncertain,
        Self::Conflict,
    ];

    /// The name, as stored and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sending => "sending",
            Self::Asking => "asking",
            Self::Published => "published",
            Self::Dead => "dead",
            Self::Uncertain => "uncertain",
            Self::Conflict => "conflict",
        }
    }

    /// The state of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether it waits for a person.
    #[must_use]
    pub const fn is_parked(self) -> bool {
        matches!(self, Self::Dead | Self::Uncertain | Self::Conflict)
    }
}

/// How far one command is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The internal key of its outbox row.
    pub n: i64,
    /// How far it is.
    pub state: State,
    /// The round, from 1; each retry, redelivery or not-done verdict begins a new one.
    pub round: u32,
    /// The first claim of this round.
    pub round_since: Option<Micros>,
    /// Attempts of this round.
    pub attempts: u32,
    /// Questions asked in this round.
    pub asks: u32,
    /// Whether an attempt may have acted.
    pub in_doubt: bool,
    /// Its place in its lane, in commit order from 1; `None`: it has no ordering key.
    pub key_seq: Option<i64>,
    /// When a machine must look at it next; `None` when parked or blocked in a lane.
    pub available_at: Option<Micros>,
    /// The token of the newest attempt or question.
    pub token: Token,
    /// Until when the lease lasts; `None` when there is none.
    pub lease_until: Option<Micros>,
    /// Who holds the lease.
    pub lease_owner: Option<String>,
    /// The first send that may have acted.
    pub first_sent_at: Option<Micros>,
    /// The end of the last lease ever granted.
    pub last_lease_until: Option<Micros>,
    /// The last outcome's name and reason, for people.
    pub last_outcome: Option<String>,
}

impl Delivery {
    /// A delivery as the insert makes it.
    #[must_use]
    pub const fn new(n: i64, available_at: Micros) -> Self {
        Self {
            n,
            state: State::Pending,
            round: 1,
            round_since: None,
            attempts: 0,
            asks: 0,
            in_doubt: false,
            key_seq: None,
            available_at: Some(available_at),
            token: Token::NONE,
            lease_until: None,
            lease_owner: None,
            first_sent_at: None,
            last_lease_until: None,
            last_outcome: None,
        }
    }
}
