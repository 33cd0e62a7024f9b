//! One destination of a plan: what its receiver is like, and the contract that says so.
//!
//! Guarantees: the contract is true; a request lives no longer than the contract allows. Does not:
//! act; the receiver does.

use std::sync::Arc;

use counterfoil_core::domain::backoff::Pace;
use counterfoil_core::domain::contract::{Asking, Completion, OnParked, OnRefusal};
use counterfoil_core::domain::habits::{NotThere, Profile};
use counterfoil_core::domain::rate::Rate;
use counterfoil_core::domain::{Contract, Destination, Idempotent, Span, Terms};

use super::dice::Dice;

/// What must be left of a lease when an attempt ends, in milliseconds.
const MARGIN_MS: u64 = 2_000;

/// Whether a receiver folds repeats of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folds {
    No,
    Ever,
    /// While it remembers the key, in milliseconds.
    For(u64),
}

/// How a receiver is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// It says "never acted" in so many words; else by a bare 404.
    pub(super) in_words: bool,
    /// The address is wrong, and answers 404 to everything.
    pub(super) is_misrouted: bool,
}

/// What a receiver is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Forever,
    Window,
    Keyless,
    KeylessAsked,
    KeylessAskedInWords,
    ForeverAsked,
    WindowAsked,
    Receipts,
    KeylessReceiptsAsked,
    Webhook,
    InProcess,
}

pub(super) const KINDS: [Kind; 11] = [
    Kind::Forever,
    Kind::Window,
    Kind::Keyless,
    Kind::KeylessAsked,
    Kind::KeylessAskedInWords,
    Kind::ForeverAsked,
    Kind::WindowAsked,
    Kind::Receipts,
    Kind::KeylessReceiptsAsked,
    Kind::Webhook,
    Kind::InProcess,
];

/// A destination of the plan.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) kind: Kind,
    pub(super) name: Destination,
    pub(super) terms: Arc<Terms>,
    pub(super) folds: Folds,
    pub(super) asked: Option<Asked>,
    /// It takes commands on, and reports later.
    pub(super) reports: bool,
    /// `None` for a handler in the relay's process.
    pub(super) timeout_ms: Option<u64>,
    pub(super) lease_ms: u64,
    /// How long after its first byte a request may still act.
    pub(super) life_ms: u64,
    /// A process may stand still between the gate and the first byte.
    pub(super) has_gap: bool,
    /// How many attempts a relay may have under way there.
    pub(super) concurrency: Option<usize>,
    /// How many a relay may begin there in a time.
    pub(super) rate: Option<Rate>,
    /// How often an attempt is slow to begin, in a thousand.
    pub(super) slow_start: u64,
}

fn span(ms: u64) -> Span {
    Span::from_millis(i64::try_from(ms).unwrap_or(i64::MAX))
}

impl Site {
    pub(super) fn draw(dice: &mut Dice, kind: Kind, name: Destination) -> Self {
        let folds = draw_folds(dice, kind);
        let asked = draw_asked(dice, kind);
        let timeout = dice.between(300, 2_000);
        let timeout_ms = (kind != Kind::InProcess).then_some(timeout);
        let lease_ms = MARGIN_MS + timeout + dice.between(500, 6_000);
        let quiet_ms = dice.between(5_000, 40_000);
        // A request of a receiver that forgets keys is dead when its lease ends.
        let life_ms = match folds {
            Folds::For(_) => MARGIN_MS + timeout,
            Folds::No | Folds::Ever => quiet_ms,
        };
        let reports = matches!(kind, Kind::Receipts | Kind::KeylessReceiptsAsked);
        let mut contract = Contract::new(match folds {
            Folds::No => Idempotent::No,
            Folds::Ever => Idempotent::Forever,
            Folds::For(ms) => Idempotent::Window { key_ttl: span(ms) },
        });
        contract.ask = asked.map(|asked| Asking {
            max_asks: u32::try_from(dice.between(2, 6)).unwrap_or(2),
            not_there: asked.in_words.then(in_words),
            ..Asking::new(span(quiet_ms))
        });
        let horizon = dice.between(20_000, 120_000);
        contract.give_up_after = span(match folds {
            Folds::For(ms) => horizon.min(ms * 95 / 100 - lease_ms),
            Folds::No | Folds::Ever => horizon,
        });
        contract.receipt_timeout = span(dice.between(5_000, 30_000));
        if reports {
            contract.completion = Completion::Receipt;
        }
        if dice.chance(300) {
            contract.on_refusal = OnRefusal::Reject;
        }
        if dice.chance(500) {
            contract.on_parked = OnParked::Skip;
        }
        if kind == Kind::Webhook {
            contract.habits.profile = Profile::Webhook;
        }
        let pace = draw_pace(dice, lease_ms);
        Self {
            kind,
            name,
            terms: Arc::new(Terms { contract, pace }),
            folds,
            asked,
            reports,
            timeout_ms,
            lease_ms,
            life_ms,
            has_gap: folds == Folds::Ever && asked.is_none(),
            concurrency: dice.chance(250).then(|| dice.place(3) + 1),
            rate: dice.chance(250).then(|| draw_rate(dice)),
            slow_start: if dice.chance(500) { dice.between(1, 100) } else { 0 },
        }
    }
}

fn draw_pace(dice: &mut Dice, lease_ms: u64) -> Pace {
    Pace {
        initial: span(dice.between(100, 1_000)),
        max: span(dice.between(2_000, 20_000)),
        max_attempts: u32::try_from(dice.between(2, 12)).unwrap_or(2),
        lease: span(lease_ms),
    }
}

fn draw_rate(dice: &mut Dice) -> Rate {
    let count = u32::try_from(dice.between(1, 5)).unwrap_or(1);
    Rate { count, per: span(dice.between(200, 3_000)) }
}

fn draw_folds(dice: &mut Dice, kind: Kind) -> Folds {
    match kind {
        Kind::Forever | Kind::ForeverAsked | Kind::Receipts | Kind::InProcess => Folds::Ever,
        Kind::Window | Kind::WindowAsked => Folds::For(dice.between(40_000, 120_000)),
        Kind::Keyless
        | Kind::KeylessAsked
        | Kind::KeylessAskedInWords
        | Kind::KeylessReceiptsAsked => Folds::No,
        Kind::Webhook if dice.chance(500) => Folds::No,
        Kind::Webhook => Folds::Ever,
    }
}

fn draw_asked(dice: &mut Dice, kind: Kind) -> Option<Asked> {
    let in_words = match kind {
        Kind::KeylessAsked => false,
        Kind::KeylessAskedInWords => true,
        Kind::ForeverAsked | Kind::WindowAsked | Kind::KeylessReceiptsAsked => dice.chance(500),
        Kind::Forever
        | Kind::Window
        | Kind::Keyless
        | Kind::Receipts
        | Kind::Webhook
        | Kind::InProcess => return None,
    };
    Some(Asked { in_words, is_misrouted: dice.chance(250) })
}

fn in_words() -> NotThere {
    let words = vec!["no_such_key".into()];
    NotThere { status: 404, json: Some("/error".into()), one_of: words }
}
