//! Hears of other processes' commits from the system, where the system tells of them.
//!
//! Guarantees: costs nothing while nothing is written, and nothing while nobody waits; a write is
//! told once it can be seen, since the log is written before its commit is. Does not: tell of
//! anything outside of Linux, nor where the log cannot be watched; then the waiting time ends.

#[cfg(target_os = "linux")]
pub(crate) use linux::Watch;
#[cfg(not(target_os = "linux"))]
pub(crate) use silent::Watch;

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::io;
    use std::path::Path;
    use std::sync::Arc;
    use std::thread::JoinHandle;
    use std::time::{Duration, Instant};

    use inotify::{Inotify, WatchDescriptor, WatchMask, Watches};
    use rusqlite::Connection;

    use crate::commit_queue::Ear;
    use crate::connection::open_reader;
    use crate::wake::Wake;
    use crate::writer::data_version;

    /// How long a write may take to become a commit before its event is given up.
    const VISIBLE_WITHIN: Duration = Duration::from_millis(100);

    /// The longest pause between two looks for that commit.
    const LOOK_PAUSE_MAX: Duration = Duration::from_millis(5);

    /// How long the watch rests after it told of a commit: a busy log has thousands of writes a
    /// second, most of them this process's own, and a hint a millisecond is enough.
    const REST: Duration = Duration::from_millis(1);

    /// Room for the events of one read.
    const EVENT_BYTES: usize = 4096;

    /// A thread that watches the write-ahead log; ends with this value.
    pub(crate) struct Watch {
        wake: Arc<Wake>,
        watches: Watches,
        log: WatchDescriptor,
        thread: Option<JoinHandle<()>>,
    }

    impl Watch {
        /// Watches the log of the store at `path`.
        pub(crate) fn start(path: &Path, wake: &Arc<Wake>, ear: Ear) -> io::Result<Self> {
            let inotify = Inotify::init()?;
            let mut watches = inotify.watches();
            let mut log = OsString::from(path);
            log.push("-wal");
            let log = watches.add(log, WatchMask::MODIFY)?;
            let (path, own) = (path.to_path_buf(), Arc::clone(wake));
            let thread = std::thread::Builder::new().name("counterfoil-watch".into());
            let thread = thread.spawn(move || watch(inotify, &path, &own, &ear))?;
            wake.watched_by(thread.thread().clone());
            Ok(Self { wake: Arc::clone(wake), watches, log, thread: Some(thread) })
        }
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            self.wake.close();
            // The removal is an event, so a blocked read returns and sees that it is over.
            let removed = self.watches.remove(self.log.clone());
            if let (Ok(()), Some(thread)) = (removed, self.thread.take()) {
                let _ = thread.join();
            }
        }
    }

    fn watch(mut inotify: Inotify, path: &Path, wake: &Wake, ear: &Ear) {
        let Ok((reader, _)) = open_reader(path) else { return };
        let mut seen = data_version(&reader).ok();
        let mut buffer = [0; EVENT_BYTES];
        // What was written before the watch began is not told by any event.
        ear.tell();
        while wake.sleep_until_somebody_waits() && inotify.read_events_blocking(&mut buffer).is_ok()
        {
            if wake.is_closed() {
                return;
            }
            if becomes_visible(&reader, &mut seen) {
                tell_foreign(ear);
                std::thread::sleep(REST);
            }
        }
    }

    /// Tells of it, unless it was this process's own, of which those who wait heard at once.
    fn tell_foreign(ear: &Ear) {
        let begun = Instant::now();
        let mut pause = Duration::from_micros(50);
        while ear.hears().is_none() {
            if begun.elapsed() > VISIBLE_WITHIN {
                return ear.tell();
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LOOK_PAUSE_MAX);
        }
    }

    /// Looks for a commit until it can be seen; whether it came.
    fn becomes_visible(reader: &Connection, seen: &mut Option<i64>) -> bool {
        let begun = Instant::now();
        let mut pause = Duration::from_micros(50);
        loop {
            match data_version(reader) {
                Ok(version) if Some(version) != *seen => {
                    *seen = Some(version);
                    return true;
                }
                Ok(_) => {}
                // Whoever waits will look for themselves, and say what is wrong.
                Err(_) => return true,
            }
            if begun.elapsed() > VISIBLE_WITHIN {
                return false;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LOOK_PAUSE_MAX);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod silent {
    use std::io;
    use std::path::Path;
    use std::sync::Arc;

    use crate::commit_queue::Ear;
    use crate::wake::Wake;

    /// Nothing is watched here: a wait ends by its time.
    pub(crate) struct Watch;

    impl Watch {
        pub(crate) fn start(_: &Path, _: &Arc<Wake>, _: Ear) -> io::Result<Self> {
            Ok(Self)
        }
    }
}
