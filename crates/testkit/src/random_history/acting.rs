//! What people do in the random histories.

use counterfoil_core::domain::Destination;
use counterfoil_core::domain::transition::Verdict;
use counterfoil_core::port::{Act, Actor, Deed, Store as _};

use super::{Both, DESTINATIONS};
use crate::exercise_store::Hands;

impl<H: Hands> Both<H> {
    fn deed(&mut self) -> Deed {
        let may_act_twice = self.dice.one_in(2);
        let act = self.dice.pick(&[
            Act::Retry { may_act_twice },
            Act::Redeliver { may_act_twice },
            Act::Cancel,
            Act::Resolve(Verdict::Completed { result: Some(b"1".to_vec()) }),
            Act::Resolve(Verdict::Rejected),
            Act::Resolve(Verdict::NotDone),
        ]);
        Deed { command_id: self.ids(), act, by_filter: self.dice.one_in(4) }
    }

    pub(super) async fn act(&mut self) {
        let deeds: Vec<_> = (0..=self.dice.below(3)).map(|_| self.deed()).collect();
        let reason = self.dice.pick(&["", "asked by phone"]).to_owned();
        let actor = Actor { name: "ann".into(), reason };
        let memory = self.memory.act(deeds.clone(), actor.clone()).await;
        assert_eq!(self.store.act(deeds.clone(), actor).await, memory, "{deeds:?}");
    }

    pub(super) async fn pause_or_resume(&mut self) {
        let name = Destination::new(self.dice.pick(&DESTINATIONS)).unwrap();
        if self.dice.one_in(3) {
            let memory = self.memory.pause(&name, "ann", "why").await;
            assert_eq!(self.store.pause(&name, "ann", "why").await, memory);
        } else {
            let memory = self.memory.resume(&name, "ann", "").await;
            assert_eq!(self.store.resume(&name, "ann", "").await, memory);
        }
    }
}
