//! How large a decision and a workflow may be.
//!
//! Guarantees: what passes any of these sets the workflow aside with a reason that names the bound;
//! nothing of that decision is written. Does not: bound how long a history may grow.

/// The most events of the program that one decision may have.
pub const EVENTS_MAX: usize = 1_000;
/// The most commands that one decision may issue.
pub const COMMANDS_MAX: usize = 1_000;
/// The most timers that one decision may set, and the most that it may take back.
pub const TIMERS_MAX: usize = 1_000;
/// The most commands of one workflow that may be open at once.
pub const OPEN_MAX: usize = 10_000;
/// The most timers of one workflow that may wait at once.
pub const WAITING_MAX: usize = 10_000;
/// The most bytes that a label may have.
pub const LABEL_BYTES_MAX: usize = 255;
/// The most bytes that a timer's name may have: with the seq it fits into an input's id.
pub const TIMER_NAME_BYTES_MAX: usize = 200;
/// The most bytes that labels, timers and the end of one decision may have as JSON: 1 MiB.
pub const DECIDED_BYTES_MAX: usize = 1024 * 1024;
/// The most bytes of a reason for which a workflow failed; the rest is left out, since a reason is
/// often what a stranger said: 64 KiB.
pub const REASON_BYTES_MAX: usize = 64 * 1024;
/// The most bytes that a snapshot may have: 16 MiB. A larger state is not saved, and is replayed.
pub const SNAPSHOT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The reason, no longer than [`REASON_BYTES_MAX`].
pub(crate) fn clipped(mut reason: String) -> String {
    if reason.len() > REASON_BYTES_MAX {
        let ends = (0..=REASON_BYTES_MAX - "…".len()).rev();
        let end = ends.into_iter().find(|at| reason.is_char_boundary(*at)).unwrap_or(0);
        reason.truncate(end);
        reason.push('…');
    }
    reason
}
