//! The decision table: what follows from each outcome, in each situation.
//!
//! Guarantees: total; it is the only place that decides, so production, the simulator and
//! `docs/policy.md` read the same rows. Does not: change a delivery; see `policy`.

use crate::domain::receipt::ReceiptOutcome;

/// What an attempt came to, as far as the table tells outcomes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Came {
    /// Done.
    Completed,
    /// Taken on, to be done later.
    Accepted,
    /// Refused in the receiver's own word for the key.
    RejectedByReceiver,
    /// Refused by a status or a code that a gateway may have made.
    RejectedByStatus,
    /// Provably not processed.
    NotSent,
    /// It may have acted: an unknown answer, an expired lease, a receipt that did not come.
    Unknown,
    /// It may have acted, and a repeat would only hear the same answer again.
    Ask,
    /// The receiver knows the key with other content.
    Conflict,
}

impl Came {
    /// Every row of the table.
    pub const ALL: [Self; 8] = [
        Self::Completed,
        Self::Accepted,
        Self::RejectedByReceiver,
        Self::RejectedByStatus,
        Self::NotSent,
        Self::Unknown,
        Self::Ask,
        Self::Conflict,
    ];
}

/// What the table asks about a command and its contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is one question of the table")]
pub struct Situation {
    /// An earlier attempt may have acted.
    pub in_doubt: bool,
    /// The round's attempts or its horizon are spent.
    pub spent: bool,
    /// A repeat at its due time folds into the first effect.
    pub repeatable: bool,
    /// The receiver can be asked, and questions are left.
    pub askable: bool,
    /// `completion = "accepted"`.
    pub completes_on_accept: bool,
    /// `on_refusal = "reject"`.
    pub refusal_ends: bool,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    /// The command ends with this receipt.
    End(ReceiptOutcome),
    /// It waits for its receipt.
    Publish,
    /// It is sent again, same id, same bytes.
    Retry,
    /// The receiver is asked.
    Ask,
    /// It waits for a person, in doubt.
    Uncertain,
    /// It waits for a person, not in doubt.
    Dead,
    /// It waits for a person, its key taken by other content.
    Conflict,
}

/// The decision table.
#[must_use]
pub const fn then(came: Came, at: Situation) -> Then {
    match came {
        Came::Completed => Then::End(ReceiptOutcome::Completed),
        Came::Accepted if at.completes_on_accept => Then::End(ReceiptOutcome::Accepted),
        Came::Accepted => Then::Publish,
        Came::RejectedByReceiver => Then::End(ReceiptOutcome::Rejected),
        // A gateway's 404 cannot undo a charge that exists.
        Came::RejectedByStatus if at.in_doubt => in_doubt(at),
        Came::RejectedByStatus if at.refusal_ends => Then::End(ReceiptOutcome::Rejected),
        Came::RejectedByStatus => Then::Dead,
        Came::NotSent if !at.spent => Then::Retry,
        Came::NotSent if at.in_doubt => in_doubt(at),
        Came::NotSent => Then::Dead,
        Came::Unknown if at.repeatable && !at.spent => Then::Retry,
        Came::Unknown | Came::Ask => in_doubt(at),
        Came::Conflict => Then::Conflict,
    }
}

/// In doubt and not to be repeated: the receiver is asked if it can be, else a person.
#[must_use]
pub const fn in_doubt(at: Situation) -> Then {
    if at.askable { Then::Ask } else { Then::Uncertain }
}
