//! The flags of `audit`.

use clap::Args;

/// `audit`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Audit {
    /// The receiver's book: the store that holds its inbox, sqlite:PATH or postgres://…; or `ask`:
    /// each completed command is asked about by its key, at destinations with `ask`
    #[arg(long, value_name = "URL|ask")]
    pub(crate) inbox: Option<String>,
    /// The receiver's own table is its book: a query whose first column is the ids of commands
    /// that took effect, each once. It is asked of the store that --inbox names, else of this one
    #[arg(long, value_name = "SQL")]
    pub(crate) inbox_query: Option<String>,
    /// With --inbox or --inbox-query: a destination that this receiver serves; may be given
    /// several times. Default: it serves all
    #[arg(long, value_name = "NAME")]
    pub(crate) destination: Vec<String>,
    /// Check everything, not only what is new since the last audit that held, and what is open
    #[arg(long)]
    pub(crate) full: bool,
    /// Make uncertain what has neither a delivery nor a receipt, so that a person looks into it;
    /// checks everything
    #[arg(long)]
    pub(crate) mend: bool,
    /// Seal what stands, although rows that were sealed are gone, changed or new, and count tallies
    /// anew, if nothing else is wrong: says which, and ends with 1; checks everything
    #[arg(long)]
    pub(crate) reseal: bool,
    /// With --mend or --reseal: who does so, for the books. Default: the user of the operating
    /// system
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// With --reseal, which needs it: why the old seal is given up, for the books
    #[arg(long, value_name = "TEXT", requires = "reseal")]
    pub(crate) reason: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
