//! `explain`, `completions` and `man`: what there is to read without a store.
//!
//! Guarantees: the pages of the documentation and the flags as they are compiled in are what is
//! shown, so neither can be older than the command. Does not: read any file.

mod page;

use clap::CommandFactory;
use serde_json::json;

use crate::args::{Completions, Explain, Man, Typed};
use crate::exit::{Ended, Exit, Failure};
use crate::output;
use page::Row;

/// Does `explain`.
///
/// # Errors
/// There is no such code.
pub(crate) fn explain(args: &Explain) -> Ended {
    let mut rows = page::rows();
    rows.sort_by(|one, other| one.code.cmp(&other.code));
    let Some(asked) = &args.code else {
        for row in &rows {
            if args.json {
                output::line(&object(row).to_string())?;
            } else {
                output::line(&format!("{}  {}", row.code, row.means))?;
            }
        }
        return Ok(Exit::Done);
    };
    let code = asked.trim().to_uppercase();
    let row =
        rows.iter().find(|row| row.code == code || row.code.strip_prefix("CF") == Some(&code));
    let Some(row) = row else {
        let text = format!("no code {asked:?} is known here");
        return Err(Failure::refused(text)
            .help("codes are such as CF0104; `counterfoil explain` lists all of this version"));
    };
    if args.json {
        output::line(&object(row).to_string())?;
    } else {
        output::line(&row.tell())?;
    }
    Ok(Exit::Done)
}

fn object(row: &Row) -> serde_json::Value {
    json!({
        "code": row.code, "section": row.section, "means": row.means, "way_out": row.way_out,
        "page": row.page, "status": row.status,
    })
}

/// Does `completions`.
///
/// # Errors
/// Stdout cannot be written.
pub(crate) fn completions(args: &Completions) -> Ended {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Typed::command(), "counterfoil", &mut script);
    output::bytes(&script)?;
    Ok(Exit::Done)
}

/// Does `man`.
///
/// # Errors
/// There is no such verb, or stdout cannot be written.
pub(crate) fn man(args: &Man) -> Ended {
    let mut whole = Typed::command();
    whole.build();
    let command = match &args.verb {
        None => whole,
        Some(verb) => {
            let Some(found) = whole.find_subcommand(verb) else {
                return Err(Failure::could_not_run(format!("`{verb}` is no verb"))
                    .help("`counterfoil --help` lists the verbs"));
            };
            found.clone()
        }
    };
    let title = command.get_display_name().unwrap_or("counterfoil").to_owned();
    let mut page = Vec::new();
    clap_mangen::Man::new(command).title(title).render(&mut page)?;
    output::bytes(&page)?;
    Ok(Exit::Done)
}
