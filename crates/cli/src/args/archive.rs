//! `archive` and `erase`: what can be typed.
//!
//! Guarantees: a run and a verification do not go together. Does not: act.

use std::path::PathBuf;

use clap::Args;

/// `archive`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Archive {
    /// Move what ended so long ago or before that time: 30d, 12h, or RFC 3339. What is archived can
    /// be looked at and erased, and never sent again
    #[arg(long, value_name = "AGE", conflicts_with = "verify")]
    #[arg(required_unless_present = "verify")]
    pub(crate) older_than: Option<String>,
    /// Into this folder, which must be there; one folder is one store's. Default: [archive] dir
    #[arg(long, value_name = "DIR", conflicts_with = "verify")]
    pub(crate) to: Option<PathBuf>,
    /// Prove that the files in this folder are whole, and that they and the store say the same; may
    /// be given several times, where the files lie in several folders. Exit 1 if not
    #[arg(long, value_name = "DIR")]
    pub(crate) verify: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `erase`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Erase {
    /// The command's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Why, for the books; it must be said, and stays
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// The folder of the archive, whose files are rewritten without the content; where there are
    /// several, give each. Default: [archive] dir
    #[arg(long, value_name = "DIR")]
    pub(crate) archive: Vec<PathBuf>,
    /// Who acts, for the books. Default: the user of the operating system
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
