//! The `Audited` port on PostgreSQL: how far the store is complete, what came since, workflows, the
//! seal.
//!
//! Guarantees: nothing at or below a horizon appears later; a seal is written only over the one
//! that was read. Does not: know what a seal says.

mod arrived;
mod flow;
mod horizon;
mod mend;
pub(crate) mod seal;

use counterfoil_core::domain::laws::{ContradictionFacts, FlowFacts};
use counterfoil_core::port::Actor;
use counterfoil_core::port::archive::ActionRow;
use counterfoil_core::port::read::Facts;
use counterfoil_core::port::seal::{
    Arrived, Audited, EventRead, FlowsFrom, Horizon, InputPage, Sealed,
};
use counterfoil_core::port::store::StoreError;

use self::mend::Mend;
use self::seal::SaveSeal;
use crate::store::{PostgresStore, snapshot};

impl Audited for PostgresStore {
    async fn horizon(&self) -> Result<Option<Horizon>, StoreError> {
        Ok(horizon::horizon(&self.inner).await?)
    }

    async fn ended_since(
        &self,
        after: Arrived,
        limit: usize,
    ) -> Result<(Facts, Arrived), StoreError> {
        snapshot!(self, |tx| arrived::ended_since(tx, after, limit))
    }

    async fn events(
        &self,
        after: Option<(String, i64)>,
        limit: usize,
    ) -> Result<Vec<EventRead>, StoreError> {
        snapshot!(self, |tx| arrived::events(tx, after, limit))
    }

    async fn flow_facts(
        &self,
        from: FlowsFrom,
        limit: usize,
    ) -> Result<Vec<FlowFacts>, StoreError> {
        snapshot!(self, |tx| flow::flows(tx, &from, limit))
    }

    async fn input_facts(
        &self,
        from: Option<String>,
        limit: usize,
    ) -> Result<InputPage, StoreError> {
        snapshot!(self, |tx| flow::inputs(tx, from.as_deref(), limit))
    }

    async fn actions(&self, after: i64, limit: usize) -> Result<Vec<ActionRow>, StoreError> {
        snapshot!(self, |tx| arrived::actions(tx, after, limit))
    }

    async fn contradictions(
        &self,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(String, ContradictionFacts)>, StoreError> {
        snapshot!(self, |tx| arrived::contradictions(tx, after, limit))
    }

    async fn numbers(&self, command_ids: &[String]) -> Result<Vec<Option<i64>>, StoreError> {
        snapshot!(self, |tx| arrived::numbers(tx, command_ids))
    }

    async fn archived(&self) -> Result<i64, StoreError> {
        snapshot!(self, |tx| arrived::archived(tx))
    }

    async fn sealed(&self) -> Result<Option<Sealed>, StoreError> {
        snapshot!(self, |tx| seal::sealed(tx))
    }

    async fn save_seal(&self, version: i64, seal: &str) -> Result<bool, StoreError> {
        self.write(SaveSeal::new(&self.inner, version, seal)).await
    }

    async fn reseal(
        &self,
        version: i64,
        seal: &str,
        actor: Actor,
        recount: bool,
    ) -> Result<bool, StoreError> {
        self.write(SaveSeal::new(&self.inner, version, seal).by(actor, recount)?).await
    }

    async fn mend(&self, command_ids: &[String], actor: Actor) -> Result<u64, StoreError> {
        self.write(Mend::new(&self.inner, command_ids, actor)?).await
    }
}
