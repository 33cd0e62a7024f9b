//! Holds the table of `docs/laws.md` to the book of laws.
//!
//! Guarantees: every law has its row, word for word. Does not: write the file, unless
//! `UPDATE_DOCS=1` is set.

use std::fmt::Write as _;
use std::path::Path;

use counterfoil_core::domain::laws::LAWS;

const BEGIN: &str = "<!-- generated: begin -->\n";
const END: &str = "<!-- generated: end -->\n";

fn table() -> String {
    let mut table = "| code | law | when it is broken |\n|---|---|---|\n".to_owned();
    for law in LAWS {
        writeln!(table, "| `{}` | {} | {} |", law.code, law.says, law.remedy).unwrap();
    }
    table
}

#[test]
fn the_document_has_every_law() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/laws.md");
    let stands = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = stands.split_once(BEGIN).unwrap();
    let (stood, tail) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{BEGIN}\n{}\n{END}{tail}", table())).unwrap();
    } else {
        assert_eq!(stood.trim(), table().trim(), "UPDATE_DOCS=1 cargo test writes the table anew");
    }
}
