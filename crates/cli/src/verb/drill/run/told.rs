//! The told orders of a drill, each cut off where nobody can hear the receiver's answer.
//!
//! Guarantees: relays are killed once, and the receiver once, between the receiver's commit and
//! the relay's settle, the receiver once before its commit, a shop between its writes and its
//! commit. Does not: judge how they end.

use std::time::Instant;

use super::super::cast::When;
use super::super::database::{Query, query};
use super::super::order::order_id;
use super::super::process::PATIENCE;
use super::{Run, pay};
use crate::args::Contract;
use crate::exit::Failure;

impl Run<'_> {
    /// The first orders, each cut off where nobody hears the receiver's answer.
    pub(super) fn told_orders(&mut self, told: u32) -> Result<(), Failure> {
        self.relays_die_unaware(1)?;
        self.cast.kill_receiver()?;
        self.cast.start_receiver(&["--hold-after-commit", "1"])?;
        self.cast.start_relays()?;
        if told >= 2 {
            self.receiver_dies_unheard(2)?;
        }
        if told >= 3 {
            self.receiver_dies_before(3)?;
        }
        // It lives still where one order is all.
        self.cast.kill_receiver()?;
        self.cast.start_receiver(&[])
    }

    fn relays_die_unaware(&mut self, n: u32) -> Result<(), Failure> {
        self.kill_before_commit(n, 1)?;
        self.cast.kill_payer(n, 1, When::AfterCommit)?;
        self.story.tell(n, "it is paid, and the shop's process is killed")?;
        self.cast.start_receiver(&["--hold-after-commit", "1"])?;
        self.cast.start_relays()?;
        self.wait_for_held()?;
        self.cast.kill_relays()?;
        self.story.tell(n, "the receiver has done it, and the relays are killed unaware")
    }

    fn receiver_dies_unheard(&mut self, n: u32) -> Result<(), Failure> {
        pay(&mut self.orders, n, 1)?;
        self.wait_for_held()?;
        self.cast.kill_receiver()?;
        self.wait_for_doubt(n)?;
        self.story.tell(n, "the receiver has done it, and is killed before it answers")
    }

    fn receiver_dies_before(&mut self, n: u32) -> Result<(), Failure> {
        self.cast.start_receiver(&["--die-before-commit", "1"])?;
        pay(&mut self.orders, n, 1)?;
        self.cast.receiver_dies()?;
        self.wait_for_doubt(n)?;
        self.story.tell(n, "the receiver dies before it has done it")
    }

    /// The last order: a receiver that can be asked does it, is killed before it answers, and is
    /// still down when it is asked, so that an unclear answer is met too.
    pub(super) fn last_order(&mut self, n: u32) -> Result<(), Failure> {
        if self.site.contract != Contract::Askable {
            return pay(&mut self.orders, n, 1);
        }
        self.wait_while(query!("moving"), |moving| moving > 0)?;
        self.cast.kill_receiver()?;
        self.cast.start_receiver(&["--hold-after-commit", "1"])?;
        pay(&mut self.orders, n, 1)?;
        self.wait_for_held()?;
        self.cast.kill_receiver()?;
        self.wait_while(query!("unclear"), |unclear| unclear == 0)?;
        self.story.tell(n, "the receiver has done it, is killed, and is asked while it is down")?;
        self.cast.start_receiver(&[])
    }

    /// Waits while `is` holds for the number that `query` gives, but not for ever.
    fn wait_while(&mut self, query: Query, is: impl Fn(i64) -> bool) -> Result<(), Failure> {
        let end = Instant::now() + PATIENCE;
        while is(self.number(query)?) && Instant::now() < end {
            self.look()?;
        }
        Ok(())
    }

    /// Waits until the receiver holds an answer back, as long as everybody else lives.
    fn wait_for_held(&mut self) -> Result<(), Failure> {
        let end = Instant::now() + PATIENCE;
        while !self.cast.receiver().is_some_and(|receiver| receiver.has_said("held")) {
            self.look()?;
            if Instant::now() > end {
                let text = "the drill's receiver got no command in time";
                return Err(Failure::could_not_run(text));
            }
        }
        Ok(())
    }

    fn wait_for_doubt(&mut self, n: u32) -> Result<(), Failure> {
        let end = Instant::now() + PATIENCE;
        while !self.story.is_in_doubt(n)? {
            self.look()?;
            if Instant::now() > end {
                let id = order_id(n);
                let text = format!("order {id}: its answer was cut off, and no relay noted it");
                self.broken.push(text);
                break;
            }
        }
        Ok(())
    }

    /// A paying process dies between its last order's writes and their commit: nothing of either.
    pub(super) fn kill_before_commit(&mut self, first: u32, share: u32) -> Result<(), Failure> {
        self.cast.kill_payer(first, share, When::BeforeCommit)?;
        let last = first + share - 1;
        let (paid, commands) = self.orders.look(last)?;
        if paid || commands > 0 {
            let (id, paid) = (order_id(last), if paid { "paid" } else { "unpaid" });
            let text = format!("order {id}: killed before commit, yet {paid}, {commands} commands");
            self.broken.push(text);
        }
        Ok(())
    }
}
