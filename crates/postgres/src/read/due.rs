use counterfoil_core::domain::*;
use counterfoil_core::port::store::*;
use crate::failure::Failure;
use crate::store::Inner;
use crate::tx::Tx;
use crate::work::Work;
pub(crate) async fn next_due(_: &Tx<'_>, _: &[Destination]) -> Result<Option<Micros>, Failure> { Err(Failure::broken("stub")) }
pub(crate) async fn remaining(_: &Tx<'_>, _: &[Destination]) -> Result<Remaining, Failure> { Err(Failure::broken("stub")) }
