use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
use counterfoil_core::domain::laws::*;
pub(crate) async fn load(_: &Tx<'_>, _: &Stream, _: i64, _: usize) -> Result<Vec<EventRow>, Failure> { Err(Failure::broken("stub")) }
pub(crate) async fn event_facts(_: &Tx<'_>, _: Option<(String,i64)>, _: usize) -> Result<Vec<EventFacts>, Failure> { Err(Failure::broken("stub")) }
