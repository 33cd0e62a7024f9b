//! Tables for people.
//!
//! Guarantees: a cell never breaks its row: control characters are shown, not sent to the
//! terminal. Does not: colour.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};

/// A table with these columns.
pub(crate) fn table(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_HORIZONTAL_ONLY).set_header(columns);
    table
}

/// A table whose columns after the first hold numbers.
pub(crate) fn numbers(columns: &[&str]) -> Table {
    let mut table = table(columns);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Text from a store, safe for a terminal.
pub(crate) fn cell(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_cannot_steer_the_terminal() {
        assert_eq!(cell("a\u{1b}[31m\nb 订单"), "a\u{fffd}[31m\u{fffd}b 订单");
    }
}
