//! The books of a store: what its archive takes away, and how far an audit may rely on it.

mod bury;
mod ended;
mod erase;
mod horizon;
mod killed;
mod late;
mod mend;
mod old_snapshots;
mod pooled;
mod races;
mod rights;
mod scene;
mod since;
mod stress;
