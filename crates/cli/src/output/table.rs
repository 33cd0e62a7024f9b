//! Tables for people.
//!
//! Guarantees: a cell never breaks its row: control characters are shown, not sent to the
//! terminal. Does not: colour.

use comfy_table::presets::NOTHING;
use comfy_table::{Table, TableComponent};

/// A table with these columns.
pub(crate) fn table(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(columns);
    // A line below the header is all that is drawn.
    table.set_style(TableComponent::HeaderLines, '─');
    table.set_style(TableComponent::MiddleHeaderIntersections, '─');
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
