//! The port of an audit from a seal, whichever database the store is in.
//!
//! Guarantees: each method goes to the open store as it is. Does not: decide anything.

use counterfoil_core::domain::laws::{ContradictionFacts, FlowFacts};
use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::ActionRow;
use counterfoil_core::port::read::Facts;
use counterfoil_core::port::seal::{
    Arrived, Audited, EventRead, FlowsFrom, Horizon, InputPage, Sealed,
};
use counterfoil_core::port::store::StoreError;

use super::{OpenStore, each};

impl Audited for OpenStore {
    async fn horizon(&self) -> Result<Option<Horizon>, StoreError> {
        each!(self, open => open.horizon().await)
    }

    async fn ended_since(
        &self,
        after: Arrived,
        limit: usize,
    ) -> Result<(Facts, Arrived), StoreError> {
        each!(self, open => open.ended_since(after, limit).await)
    }

    async fn events(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> Result<Vec<EventRead>, StoreError> {
        each!(self, open => open.events(after, limit).await)
    }

    async fn flow_facts(
        &self,
        from: FlowsFrom,
        limit: usize,
    ) -> Result<Vec<FlowFacts>, StoreError> {
        each!(self, open => open.flow_facts(from, limit).await)
    }

    async fn input_facts(
        &self,
        from: Option<String>,
        limit: usize,
    ) -> Result<InputPage, StoreError> {
        each!(self, open => open.input_facts(from, limit).await)
    }

    async fn actions(&self, after: i64, limit: usize) -> Result<Vec<ActionRow>, StoreError> {
        each!(self, open => open.actions(after, limit).await)
    }

    async fn contradictions(
        &self,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(String, ContradictionFacts)>, StoreError> {
        each!(self, open => open.contradictions(after, limit).await)
    }

    async fn numbers(&self, command_ids: &[String]) -> Result<Vec<Option<i64>>, StoreError> {
        each!(self, open => open.numbers(command_ids).await)
    }

    async fn archived(&self) -> Result<i64, StoreError> {
        each!(self, open => open.archived().await)
    }

    async fn sealed(&self) -> Result<Option<Sealed>, StoreError> {
        each!(self, open => open.sealed().await)
    }

    async fn save_seal(&self, version: i64, seal: &str) -> Result<bool, StoreError> {
        each!(self, open => open.save_seal(version, seal).await)
    }

    async fn reseal(
        &self,
        version: i64,
        seal: &str,
        actor: Actor,
        recount: bool,
    ) -> Result<bool, StoreError> {
        each!(self, open => open.reseal(version, seal, actor, recount).await)
    }

    async fn mend(&self, command_ids: &[String], actor: Actor) -> Result<u64, StoreError> {
        each!(self, open => open.mend(command_ids, actor).await)
    }
}
