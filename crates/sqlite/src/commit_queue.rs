//! The queue in which writers of one process share transactions.
//!
//! Guarantees: what waits is committed together, in order, decisions before what a relay holds
//! back; with nothing waiting a thread commits on its own, without a hop; callers never hang.
//! Does not: block a task; a task waits for its answer without a thread. A task that is dropped
//! while it waits may still be committed.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use counterfoil_core::port::Patience;
use rusqlite::Connection;

use crate::clock::StoreTime;
use crate::member::{Heard, Member, Waiting, Work, unanswered};
use crate::patient::Patient;
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
    /// Claims that found nothing due; they join the next group that wakes a relay.
    patient: Vec<Box<dyn Member>>,
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

    /// Commits from a task when there is something to do; `None`: the patience ended before.
    pub(crate) async fn commit_when_due<W: Work>(
        &self,
        work: W,
        patience: &Patience,
    ) -> Option<Heard<W::Answer>> {
        if patience.has_ended() {
            return None;
        }
        let _waiting = self.shared.wake.wait();
        let (member, mut receiver) = Waiting::task(work);
        self.shared.push(member);
        let heard = tokio::select! {
            biased;
            heard = &mut receiver => heard,
            () = patience.ended() => {
                if self.shared.lock().take_back(patience).is_some() {
                    return None;
                }
                receiver.await
            }
        };
        match heard {
            Ok(heard) => Some(heard),
            Err(_) if patience.has_ended() => None,
            Err(_) => Some(Err(unanswered())),
        }
    }

    /// Where a watch asks whose commit it was.
    pub(crate) fn ear(&self) -> Ear {
        Ear(Arc::downgrade(&self.shared))
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

/// Tells other processes' commits from this one's own.
pub(crate) struct Ear(Weak<Shared>);

impl Ear {
    /// Whether another connection has committed; `None` while the writer is at work. Those who wait
    /// are told.
    pub(crate) fn hears(&self) -> Option<bool> {
        let Some(shared) = self.0.upgrade() else { return Some(false) };
        let is_foreign = match shared.writer.try_lock() {
            Ok(mut writer) => writer.sees_foreign(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().sees_foreign(),
            Err(TryLockError::WouldBlock) => return None,
        };
        if is_foreign {
            shared.tell_all();
        }
        Some(is_foreign)
    }

    /// Tells those who wait.
    pub(crate) fn tell(&self) {
        self.0.upgrade().inspect(|shared| shared.tell_all());
    }
}

impl Queued {
    /// Takes out the claim that waits with `patience`, unless it is being written.
    fn take_back(&mut self, patience: &Patience) -> Option<Box<dyn Member>> {
        let is_it = |one: &dyn Member| one.patience().is_some_and(|it| it.is(patience));
        if let Some(at) = self.patient.iter().position(|one| is_it(&**one)) {
            return Some(self.patient.swap_remove(at));
        }
        let at = self.members.iter().position(|one| is_it(&**one))?;
        self.members.remove(at)
    }

    /// Keeps those who wait, to be asked by themselves where they have not seen what is there.
    fn keep(&mut self, waiting: Vec<Box<dyn Member>>, have_seen: bool) {
        for member in waiting {
            let has_ended = member.patience().is_none_or(Patience::has_ended);
            if has_ended || member.is_abandoned() {
                member.give_up();
            } else if have_seen {
                self.patient.push(member);
            } else {
                self.members.push_back(member);
            }
        }
    }

    fn may_relay(&self, now: Instant) -> bool {
        self.relay_not_before.is_none_or(|at| at <= now) || self.is_closed
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queued> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, member: Box<dyn Member>) {
        let mut queued = self.lock();
        queued.members.push_back(member);
        self.have_written(queued);
    }

    /// Lets the writer write what has come.
    fn have_written(&self, mut queued: MutexGuard<'_, Queued>) {
        let sleeps = !queued.members.is_empty() && std::mem::take(&mut queued.writer_sleeps);
        drop(queued);
        if sleeps {
            self.arrived.notify_one();
        }
    }

    /// Another process has committed something.
    fn tell_all(&self) {
        let mut queued = self.lock();
        let waiting = std::mem::take(&mut queued.patient);
        queued.keep(waiting, false);
        self.have_written(queued);
        self.wake.commit();
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
        let mut relay_may = queued.may_relay(Instant::now());
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
        let mut patient = self.patient();
        let wakes = writer.commit(members, &mut patient);
        let with_relay = patient.has_joined() || members.iter().any(|member| member.is_relay());
        let owed = writer.owes_foreign_writers().filter(|_| with_relay);
        let wakes = wakes || writer.has_seen_foreign();
        let answered = self.keep_waiting(members, patient, (wakes, owed));
        if wakes {
            self.wake.commit();
        }
        for member in answered.into_iter().chain(members.drain(..)) {
            member.answer();
        }
    }

    /// Those who wait, unless other processes are to be let in.
    fn patient(&self) -> Patient {
        let mut queued = self.lock();
        if queued.patient.is_empty() || !queued.may_relay(Instant::now()) {
            return Patient::default();
        }
        Patient::new(std::mem::take(&mut queued.patient))
    }

    /// Keeps those who still wait, in a group or for it; gives back those who are answered.
    fn keep_waiting(
        &self,
        members: &mut Vec<Box<dyn Member>>,
        patient: Patient,
        (wakes, owed): (bool, Option<Duration>),
    ) -> Vec<Box<dyn Member>> {
        let mut queued = self.lock();
        if let Some(owed) = owed {
            let gap = owed.clamp(self.relay_gap, self.relay_gap.max(GAP_MAX));
            queued.relay_not_before = Some(Instant::now() + gap);
        }
        let (patient, have_looked) = patient.into_parts();
        let (waiting, answered) = patient.into_iter().partition(|member| member.is_waiting());
        queued.keep(waiting, have_looked || !wakes);
        let begun: Vec<_> = members.extract_if(.., |member| member.is_waiting()).collect();
        // They looked before the group wrote.
        queued.keep(begun, !wakes);
        if wakes && !have_looked {
            let others = std::mem::take(&mut queued.patient);
            queued.keep(others, false);
        }
        self.have_written(queued);
        answered
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
