//! The processes of a drill: relays, the receiver, and those that pay.
//!
//! Guarantees: every kill is a SIGKILL and is counted; all are ended with the drill. Does not:
//! decide who is killed when.

use std::time::Duration;

use super::book::Kills;
use super::process::{PATIENCE, Process};
use super::site::Site;
use crate::exit::Failure;

/// How often relays that find no server are started again, all in all.
const RESTARTS_MAX: u32 = 200;
/// How long the drill waits before that.
const RESTART_PAUSE: Duration = Duration::from_millis(200);

/// The processes of one drill.
pub(super) struct Cast<'s> {
    site: &'s Site,
    relays: Vec<Option<Process>>,
    receiver: Option<Process>,
    /// How often a relay found no server and was started again.
    restarts: u32,
    /// Who was killed how often.
    pub(super) kills: Kills,
}

impl<'s> Cast<'s> {
    /// Nobody runs yet.
    pub(super) fn new(site: &'s Site, relays: u32) -> Self {
        let relays = (0..relays).map(|_| None).collect();
        Self { site, relays, receiver: None, restarts: 0, kills: Kills::default() }
    }

    /// Starts one relay.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn start_relay(&mut self, relay: usize) -> Result<(), Failure> {
        let config = self.site.config.display().to_string();
        let name = format!("relay-{}", relay + 1);
        let args = ["relay", "--end-with-stdin", "--config", &config];
        let process = Process::start(self.site, &name, &args)?;
        if let Some(place) = self.relays.get_mut(relay) {
            *place = Some(process);
        }
        Ok(())
    }

    /// Starts every relay.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn start_relays(&mut self) -> Result<(), Failure> {
        (0..self.relays.len()).try_for_each(|relay| self.start_relay(relay))
    }

    /// Kills one relay.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn kill_relay(&mut self, relay: usize) -> Result<(), Failure> {
        if let Some(process) = self.relays.get_mut(relay).and_then(Option::take) {
            process.kill()?;
            self.kills.relays += 1;
        }
        Ok(())
    }

    /// Kills every relay.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn kill_relays(&mut self) -> Result<(), Failure> {
        (0..self.relays.len()).try_for_each(|relay| self.kill_relay(relay))
    }

    /// Starts the receiver with more flags.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn start_receiver(&mut self, more: &[&str]) -> Result<(), Failure> {
        let store = format!("sqlite:{}", self.site.shipping.display());
        let listen = format!("127.0.0.1:{}", self.site.port);
        let args = ["receiver", "--end-with-stdin", "--store", &store, "--listen", &listen];
        let args = [&args[..], self.site.contract.receiver_flags(), more].concat();
        self.receiver = Some(Process::start(self.site, "receiver", &args)?);
        Ok(())
    }

    /// The receiver, while it runs.
    pub(super) const fn receiver(&self) -> Option<&Process> {
        self.receiver.as_ref()
    }

    /// Kills the receiver.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn kill_receiver(&mut self) -> Result<(), Failure> {
        if let Some(process) = self.receiver.take() {
            process.kill()?;
            self.kills.receivers += 1;
        }
        Ok(())
    }

    /// Waits until the receiver died of what it was told to die of.
    ///
    /// # Errors
    /// It lives on.
    pub(super) fn receiver_dies(&mut self) -> Result<(), Failure> {
        if let Some(process) = self.receiver.take() {
            process.dies(PATIENCE)?;
            self.kills.died += 1;
        }
        Ok(())
    }

    /// Has a process pay `share` orders from `first` on, and kills it when it says `word`.
    ///
    /// # Errors
    /// The system refuses, or the process fails.
    pub(super) fn kill_payer(&mut self, first: u32, share: u32, when: When) -> Result<(), Failure> {
        let (hold, word) = match when {
            When::BeforeCommit => ("before-commit", "written"),
            When::AfterCommit => ("after-commit", "paid"),
        };
        let last = super::order::order_id(first + share - 1);
        let store = self.site.url.clone();
        let (first, share) = (first.to_string(), share.to_string());
        let args = ["drill", "--part", "pay", "--store", &store, "--first", &first];
        let args = [&args[..], &["--orders", &share, "--hold", hold]].concat();
        let payer = Process::start(self.site, "payer", &args)?;
        payer.hear(&format!("{word} {last}"), PATIENCE)?;
        payer.kill()?;
        self.kills.payers += 1;
        Ok(())
    }

    /// Fails if somebody ended without being told to. A relay that began while the server was away
    /// is started again, as a service manager would.
    ///
    /// # Errors
    /// A process ended by itself.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        self.receiver.as_mut().map_or(Ok(()), Process::check)?;
        for relay in 0..self.relays.len() {
            let Some(process) = self.relays.get_mut(relay).and_then(Option::as_mut) else {
                continue;
            };
            let Err(failure) = process.check() else { continue };
            if !self.site.has_server()
                || self.restarts >= RESTARTS_MAX
                || !process.found_no_server()
            {
                return Err(failure);
            }
            self.restarts += 1;
            std::thread::sleep(RESTART_PAUSE);
            self.start_relay(relay)?;
        }
        Ok(())
    }

    /// Ends everybody cleanly; how many did not end so.
    pub(super) fn end(&mut self) -> usize {
        let relays: Vec<_> = self.relays.iter_mut().filter_map(Option::take).collect();
        let all = relays.into_iter().chain(self.receiver.take());
        all.map(Process::end).filter(|clean| !clean).count()
    }
}

/// When a paying process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Between its last order's writes and their commit.
    BeforeCommit,
    /// Right after its last commit.
    AfterCommit,
}
