//! The queue in which writers of one process share transactions.
//!
//! Guarantees: what waits is committed together, in order, decisions before what a relay holds
//! back; with nothing waiting a thread commits on its own, without a hop; callers never hang.
//! Does not: block a task; a task waits for its answer without a thread. A task that is dropped
//! while it waits may still be committed.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::clock::StoreTime;
use crate::member::{Heard, Member, Waiting, Work, unanswered};
use crate::place::Place;
use crate::wake::Wake;
use crate::writer::Writer;

/// About how many rows one transaction writes at most.
const GROUP_SIZE_MAX: usize = 4096;

/// The longest gap that a slow disk makes of the least one.
const GAP_MAX: Duration = Duration::from_millis(20);

/// The queue and its writer; ends with its last handle.
pub(crate) struct CommitQueue {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    waiting: Mutex<Queued>,
    arrived: Condvar,
    writer: Mutex<Writer>,
    wake: Arc<Wake>,
    relay_gap: Duration,
}

#[derive(Default)]
struct Queued {
    members: VecDeque<Box<dyn Member>>,
    relay_not_before: Option<Instant>,
    is_closed: bool,
    writer_sleeps: bool,
    /// The last group had several members: a thread that commits alone would make the others,
    /// who are about to come, wait for its fsync.
    is_crowded: bool,
}

impl CommitQueue {
    /// Starts the writer's thread.
    pub(crate) fn start(
        place: Place,
        connection: Connection,
        time: Arc<StoreTime>,
        wake: Arc<Wake>,
        relay_gap: Duration,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            arrived: Condvar::new(),
            writer: Mutex::new(Writer::new(place, connection, time)),
            wake,
            relay_gap,
        });
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("counterfoil-writer".into())
            .spawn(move || own.write_until_closed())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Commits from a task.
    pub(crate) async fn commit<W: Work>(&self, work: W) -> Heard<W::Answer> {
        let (member, receiver) = Waiting::task(work);
        self.shared.push(member);
        receiver.await.unwrap_or_else(|_| Err(unanswered()))
    }

    /// Commits from a thread: at once if nothing waits, else with those that do.
    pub(crate) fn commit_blocking<W: Work>(&self, work: W) -> Heard<W::Answer> {
        let (member, slot) = Waiting::thread(work);
        if let Some(member) = self.shared.commit_inline(member) {
            self.shared.push(member);
        }
        slot.wait()
    }
}

impl Drop for CommitQueue {
    /// Lets the writer finish what waits, so that the file is closed when this returns.
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.arrived.notify_all();
        if let Some(thread) = self.thread.take() {
            // It catches its panics; a poisoned end is an end.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queued> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, member: Box<dyn Member>) {
        let mut queued = self.lock();
        queued.members.push_back(member);
        let writer_sleeps = std::mem::take(&mut queued.writer_sleeps);
        drop(queued);
        if writer_sleeps {
            self.arrived.notify_one();
        }
    }

    /// Commits `member` here and now, or gives it back because others are at it.
    fn commit_inline(&self, member: Box<dyn Member>) -> Option<Box<dyn Member>> {
        let queued = self.lock();
        if !queued.members.is_empty() || queued.is_crowded {
            return Some(member);
        }
        let mut writer = match self.writer.try_lock() {
            Ok(writer) => writer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Some(member),
        };
        drop(queued);
        self.write(&mut writer, &mut vec![member]);
        None
    }

    fn write_until_closed(&self) {
        let mut members = Vec::new();
        while self.wait() {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            self.take(&mut members);
            self.write(&mut writer, &mut members);
        }
    }

    /// Waits until something may be written; false when the queue is closed and empty.
    fn wait(&self) -> bool {
        let mut queued = self.lock();
        loop {
            let now = Instant::now();
            let held = queued.relay_not_before.filter(|at| *at > now && !queued.is_closed);
            match held {
                _ if queued.members.is_empty() => {
                    if queued.is_closed {
                        return false;
                    }
                    queued.writer_sleeps = true;
                    queued = self.arrived.wait(queued).unwrap_or_else(PoisonError::into_inner);
                }
                Some(at) if queued.members.iter().all(|member| member.is_relay()) => {
                    queued.writer_sleeps = true;
                    let waited = self.arrived.wait_timeout(queued, at - now);
                    queued = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                _ => return true,
            }
        }
    }

    /// Takes the next group: in order, one exchange at most, none while foreign writers are let in.
    fn take(&self, members: &mut Vec<Box<dyn Member>>) {
        let mut queued = self.lock();
        let now = Instant::now();
        let mut relay_may = queued.relay_not_before.is_none_or(|at| at <= now) || queued.is_closed;
        let mut size = 0;
        let mut at = 0;
        while size < GROUP_SIZE_MAX && at < queued.members.len() {
            let member = &queued.members[at];
            if member.is_relay() && !relay_may {
                at += 1;
                continue;
            }
            relay_may &= !member.is_relay();
            size += member.size();
            members.extend(queued.members.remove(at));
        }
        queued.is_crowded = members.len() > 1;
    }

    fn write(&self, writer: &mut Writer, members: &mut Vec<Box<dyn Member>>) {
        if members.is_empty() {
            return;
        }
        let with_relay = members.iter().any(|member| member.is_relay());
        let wakes = writer.commit(members);
        let owed = writer.owes_foreign_writers().filter(|_| with_relay);
        if let Some(owed) = owed {
            let gap = owed.clamp(self.relay_gap, self.relay_gap.max(GAP_MAX));
            self.lock().relay_not_before = Some(Instant::now() + gap);
        }
        if wakes {
            self.wake.commit();
        }
        for member in members.drain(..) {
            member.answer();
        }
    }
}

#[cfg(test)]
mod tests {
    use counterfoil_core::domain::Micros;
    use counterfoil_core::port::SystemClock;
    use counterfoil_core::port::store::StoreError;

    use super::*;
    use crate::group::Group;

    /// Writes nothing, and panics if it is told to.
    struct Panics(bool);

    impl Work for Panics {
        type Answer = u32;

        fn size(&self) -> usize {
            1
        }

        fn run(&self, _: &mut Group<'_>) -> rusqlite::Result<u32> {
            assert!(!self.0, "on purpose");
            Ok(7)
        }
    }

    #[test]
    fn a_panic_answers_its_group_and_ends_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let (connection, _) = crate::connection::init(&path, None).unwrap();
        let time = Arc::new(StoreTime::start(Arc::new(SystemClock), Micros::default()));
        let (wake, gap) = (Arc::default(), Duration::ZERO);
        let queue = CommitQueue::start(Place::new(path), connection, time, wake, gap).unwrap();
        assert_eq!(queue.commit_blocking(Panics(false)), Ok(7));
        assert!(matches!(queue.commit_blocking(Panics(true)), Err(StoreError::Broken(_))));
        let (member, slot) = Waiting::thread(Panics(true));
        queue.shared.push(member);
        assert!(matches!(slot.wait(), Err(StoreError::Broken(_))));
        assert_eq!(queue.commit_blocking(Panics(false)), Ok(7));
    }
}
