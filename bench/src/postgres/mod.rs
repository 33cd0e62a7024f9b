//! The figures of PostgreSQL: P1, P2, P3, P4 and G4, on a server of their own.
//!
//! Guarantees: ours and the limit meet the same server, settings and bodies, in turns. Does not:
//! measure the rivals; see `bench/rivals`.

mod counts;
mod drain;
mod enqueue;
mod limit;
pub(crate) mod server;

use anyhow::Result;

use crate::drain::runtime;
use crate::figure::Report;
use crate::load::{Ids, Scale};
use server::Server;

/// Adds the figures that are wanted.
pub(crate) fn figures(
    scale: &Scale,
    wanted: impl Fn(&str) -> bool,
    report: &mut Report,
) -> Result<()> {
    if !["p1", "p2", "p3", "p4", "g4"].iter().any(|name| wanted(name)) {
        return Ok(());
    }
    let server = Server::start(scale.dir())?;
    let runtime = runtime()?;
    runtime.block_on(async {
        if wanted("p1") {
            for of in [(1, Ids::Orders), (8, Ids::Orders), (1, Ids::Uuids), (8, Ids::Uuids)] {
                report.add(enqueue::own_transaction(scale, &server, of).await?);
            }
        }
        if wanted("p2") {
            for figure in drain::no_op_handler(scale, &server).await? {
                report.add(figure);
            }
        }
        if wanted("p3") {
            report.add(counts::enqueued(&server).await?);
        }
        if wanted("p3") || wanted("g4") {
            for figure in counts::counted(scale, &server).await? {
                report.add(figure);
            }
        }
        if wanted("p4") {
            for figure in drain::many_relays(scale, &server).await? {
                report.add(figure);
            }
        }
        Ok(())
    })
}
