//! Claims that wait in the commit queue for something to be due.
//!
//! Guarantees: a command that one of them waits for is claimed in the transaction that records it,
//! so that it costs no second commit; what fails there spoils no other member of the group. Does
//! not: wait for what becomes due by time alone; whoever is patient looks at the clock.

use rusqlite::Connection;

use crate::group::Group;
use crate::member::Member;

/// Claims that wait, while one group is written.
#[derive(Default)]
pub(crate) struct Patient {
    members: Vec<Box<dyn Member>>,
    looked: bool,
}

impl Patient {
    pub(crate) const fn new(members: Vec<Box<dyn Member>>) -> Self {
        Self { members, looked: false }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Each claims what the group has made due.
    pub(crate) fn join(&mut self, group: &mut Group<'_>) -> rusqlite::Result<()> {
        self.looked = true;
        for member in self.members.iter_mut().filter(|member| !member.is_abandoned()) {
            if !member.peek(group.connection, group.now)? {
                member.run(group)?;
            }
        }
        Ok(())
    }

    /// Whether any of them took part in the group.
    pub(crate) fn has_joined(&self) -> bool {
        self.looked && self.members.iter().any(|member| !member.is_waiting())
    }

    /// The group was taken back.
    pub(crate) fn leave(&mut self) {
        self.looked = false;
        self.members.iter_mut().for_each(|member| member.wait_again());
    }

    /// Nobody knows whether the group stands.
    pub(crate) fn look_up(&mut self, connection: Option<&Connection>, why: &str) {
        for member in self.members.iter_mut().filter(|member| !member.is_waiting()) {
            member.look_up(connection, why);
        }
    }

    /// Whether any of them gave somebody else something to do.
    pub(crate) fn wakes(&self) -> bool {
        self.members.iter().any(|member| member.wakes())
    }

    /// All of them, and whether they have seen what the group wrote.
    pub(crate) fn into_parts(self) -> (Vec<Box<dyn Member>>, bool) {
        (self.members, self.looked)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use counterfoil_core::domain::Micros;
    use counterfoil_core::port::{Patience, SystemClock};

    use super::*;
    use crate::clock::StoreTime;
    use crate::commit_queue::CommitQueue;
    use crate::member::Work;
    use crate::place::Place;

    /// Writes nothing, and wakes whoever waits.
    struct Wakes;

    impl Work for Wakes {
        type Answer = ();

        fn size(&self) -> usize {
            1
        }

        fn run(&self, _: &mut Group<'_>) -> rusqlite::Result<()> {
            Ok(())
        }

        fn wakes(&self, (): &()) -> bool {
            true
        }
    }

    /// Waits until something is due; then it works, or fails.
    #[derive(Clone)]
    struct Waits {
        patience: Patience,
        is_due: Arc<AtomicBool>,
        fails: bool,
        runs: Arc<AtomicUsize>,
    }

    impl Waits {
        fn new(fails: bool) -> Self {
            let patience = Patience::new(Arc::new(SystemClock));
            Self { patience, is_due: Arc::default(), fails, runs: Arc::default() }
        }
    }

    impl Work for Waits {
        type Answer = bool;

        fn size(&self) -> usize {
            1
        }

        fn peek(&self, _: &Connection, _: Micros) -> rusqlite::Result<Option<bool>> {
            Ok((!self.is_due.load(Ordering::SeqCst)).then_some(false))
        }

        fn run(&self, _: &mut Group<'_>) -> rusqlite::Result<bool> {
            self.runs.fetch_add(1, Ordering::SeqCst);
            if self.fails { Err(rusqlite::Error::InvalidQuery) } else { Ok(true) }
        }

        fn patience(&self) -> Option<&Patience> {
            Some(&self.patience)
        }

        fn is_nothing(&self, is_done: &bool) -> bool {
            !is_done
        }
    }

    fn queue(folder: &tempfile::TempDir) -> Arc<CommitQueue> {
        let path = folder.path().join("s.db");
        let (connection, _) = crate::connection::init(&path, None).unwrap();
        let time = Arc::new(StoreTime::start(Arc::new(SystemClock), Micros::default()));
        let (wake, gap) = (Arc::default(), Duration::ZERO);
        Arc::new(CommitQueue::start(Place::new(path), connection, time, wake, gap).unwrap())
    }

    /// What a claim that waits comes to, and how often it ran, beside three commits: it is due at
    /// the second.
    async fn beside_others(fails: bool) -> (Option<bool>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let (queue, waits) = (queue(&folder), Waits::new(fails));
        let (own, work) = (Arc::clone(&queue), waits.clone());
        let waiting = tokio::spawn(async move {
            let patience = work.patience.clone();
            own.commit_when_due(work, &patience).await
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        queue.commit(Wakes).await.unwrap();
        assert!(!waiting.is_finished() && waits.runs.load(Ordering::SeqCst) == 0);
        waits.is_due.store(true, Ordering::SeqCst);
        queue.commit(Wakes).await.unwrap();
        let heard = waiting.await.unwrap().expect("nobody ended it");
        queue.commit(Wakes).await.unwrap();
        (heard.ok(), waits.runs.load(Ordering::SeqCst))
    }

    #[tokio::test]
    async fn it_joins_the_group_that_makes_something_due() {
        assert_eq!(beside_others(false).await, (Some(true), 1));
    }

    /// Once in the group, which goes on without it, and once alone, which tells whose fault it was.
    #[tokio::test]
    async fn where_it_fails_the_others_are_written_and_it_hears_of_it() {
        assert_eq!(beside_others(true).await, (None, 2));
    }

    #[tokio::test]
    async fn an_ended_one_is_answered_though_nobody_writes() {
        let folder = tempfile::tempdir().unwrap();
        let (queue, waits) = (queue(&folder), Waits::new(false));
        let patience = waits.patience.clone();
        let ending = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            patience.end();
        };
        let heard = tokio::join!(queue.commit_when_due(waits.clone(), &patience), ending).0;
        assert!(heard.is_none() && waits.runs.load(Ordering::SeqCst) == 0);
    }
}
