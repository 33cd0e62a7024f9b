//! One group's transaction: together, and if need be again or apart.
//!
//! Guarantees: a member that fails, or whose COMMIT does, spoils no other; what ended is known, or
//! said not to be. Does not: answer anybody; see `writer`.

use rusqlite::{Connection, ErrorCode};

use crate::clock::StoreTime;
use crate::failure::store_error;
use crate::group::Group;
use crate::member::Member;
use crate::patient::Patient;

/// How often a replay may begin again because a failing member took its transaction with it.
const REPLAYS_MAX: usize = 64;

/// How a transaction ended.
pub(crate) enum Ended {
    Committed,
    /// For all members: nothing was written.
    RolledBack(rusqlite::Error),
    NotKnown(rusqlite::Error),
}

/// Runs the members and commits them, and with them those who wait for what they do.
pub(crate) fn transact(
    connection: &Connection,
    time: &StoreTime,
    open: &mut Vec<&mut Box<dyn Member>>,
    patient: &mut Patient,
) -> Ended {
    match together(connection, time, open, patient) {
        // COMMIT itself said no, as for a deferred foreign key of the user's own.
        Together::Ended(Ended::RolledBack(error)) if open.len() > 1 && is_constraint(&error) => {
            apart(connection, time, open)
        }
        Together::Ended(ended) => ended,
        Together::Failed => replay(connection, time, open),
    }
}

fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

enum Together {
    Ended(Ended),
    /// One member failed, and the transaction was rolled back.
    Failed,
}

/// Each member in a transaction of its own: one whose COMMIT fails spoils no other.
fn apart(connection: &Connection, time: &StoreTime, open: &mut Vec<&mut Box<dyn Member>>) -> Ended {
    for member in open.iter_mut() {
        match together(connection, time, std::slice::from_mut(member), &mut Patient::default()) {
            Together::Ended(Ended::Committed) => {}
            Together::Ended(Ended::RolledBack(error)) => member.fail(store_error(&error)),
            // The connection is no longer to be trusted: those after it were not tried.
            Together::Ended(Ended::NotKnown(error)) => return Ended::NotKnown(error),
            Together::Failed => {}
        }
    }
    Ended::Committed
}

/// All members in one transaction, without savepoints. Those who wait leave one that fails.
fn together(
    connection: &Connection,
    time: &StoreTime,
    open: &mut [&mut Box<dyn Member>],
    patient: &mut Patient,
) -> Together {
    if let Err(error) = run(connection, "BEGIN IMMEDIATE") {
        return Together::Ended(Ended::RolledBack(error));
    }
    let mut group = Group::new(connection, time.steady());
    let ran = open.iter_mut().try_for_each(|member| member.run(&mut group));
    let is_awaited = ran.is_ok() && !patient.is_empty() && open.iter().any(|one| one.wakes());
    let joined = if is_awaited { patient.join(&mut group) } else { Ok(()) };
    match ran.and(joined).and_then(|()| group.finish()) {
        Ok(()) => {
            let ended = commit(connection);
            if matches!(ended, Ended::RolledBack(_)) {
                patient.leave();
            }
            Together::Ended(ended)
        }
        Err(error) => {
            roll_back(connection);
            patient.leave();
            // Alone it gains nothing from a replay.
            if open.len() == 1 && !is_awaited {
                Together::Ended(Ended::RolledBack(error))
            } else {
                Together::Failed
            }
        }
    }
}

/// The members again, each in a savepoint, so that only the failing one fails.
fn replay(
    connection: &Connection,
    time: &StoreTime,
    open: &mut Vec<&mut Box<dyn Member>>,
) -> Ended {
    for _ in 0..REPLAYS_MAX {
        if let Err(error) = run(connection, "BEGIN IMMEDIATE") {
            return Ended::RolledBack(error);
        }
        let mut group = Group::new(connection, time.steady());
        let ran = open
            .iter_mut()
            .filter(|member| !member.has_failed())
            .try_for_each(|member| run_apart(&mut group, member.as_mut()));
        match ran.and_then(|()| group.finish()) {
            Ok(()) => {
                open.retain(|member| !member.has_failed());
                return commit(connection);
            }
            // The failure took the whole transaction with it: once more without that member.
            Err(_) if connection.is_autocommit() => {}
            Err(error) => {
                roll_back(connection);
                return Ended::RolledBack(error);
            }
        }
    }
    let why = "many members failed and took their transaction with them";
    Ended::RolledBack(rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL),
        Some(why.into()),
    ))
}

/// Runs one member in a savepoint. An error says that the transaction is gone.
fn run_apart(group: &mut Group<'_>, member: &mut dyn Member) -> rusqlite::Result<()> {
    let connection = group.connection;
    run(connection, "SAVEPOINT counterfoil_member")?;
    let mark = group.mark();
    if let Err(error) = member.run(group) {
        member.fail(store_error(&error));
        if connection.is_autocommit() {
            return Err(error);
        }
        group.back_to(mark);
        run(connection, "ROLLBACK TO counterfoil_member")?;
    }
    run(connection, "RELEASE counterfoil_member")
}

fn commit(connection: &Connection) -> Ended {
    match run(connection, "COMMIT") {
        Ok(()) => Ended::Committed,
        // Still open: it can be taken back, and then it is known.
        Err(error) if !connection.is_autocommit() && run(connection, "ROLLBACK").is_ok() => {
            Ended::RolledBack(error)
        }
        Err(error) => Ended::NotKnown(error),
    }
}

fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        // What cannot be rolled back goes with its connection; the next BEGIN will say so.
        let _ = run(connection, "ROLLBACK");
    }
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    #[cfg(test)]
    crate::crash::point();
    let ran = connection.prepare_cached(sql)?.execute([]).map(drop);
    #[cfg(test)]
    crate::crash::point();
    ran
}
