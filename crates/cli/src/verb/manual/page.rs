//! The codes, as their pages have them: rows of tables in `docs/errors.md` and `docs/laws.md`.
//!
//! Guarantees: each row whose first cell is a code is found, with its section. Does not: keep
//! markup that a terminal does not show.

const PAGES: [(&str, &str); 2] = [
    ("docs/errors.md", include_str!("../../../../../docs/errors.md")),
    ("docs/laws.md", include_str!("../../../../../docs/laws.md")),
];

/// One code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Such as `CF0104`.
    pub(super) code: String,
    /// Where it belongs.
    pub(super) section: String,
    /// The HTTP status, where it has one.
    pub(super) status: Option<String>,
    /// What it means.
    pub(super) means: String,
    /// What to do.
    pub(super) way_out: String,
    /// The page that has it.
    pub(super) page: &'static str,
}

impl Row {
    /// For people.
    pub(super) fn tell(&self) -> String {
        let mut lines = vec![format!("{} · {}", self.code, self.section)];
        if let Some(status) = &self.status {
            lines.push(format!("over HTTP: {status}"));
        }
        lines.push(format!("means: {}", self.means));
        lines.push(format!("way out: {}", self.way_out));
        lines.push(format!("more: {}", self.page));
        lines.join("\n")
    }
}

/// All codes, in the order of the pages.
pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (page, text) in PAGES {
        let (mut section, mut columns) = (String::new(), Vec::new());
        for line in text.lines() {
            if let Some(heading) = line.trim_start_matches('#').strip_prefix(' ')
                && line.starts_with('#')
            {
                section = plain(heading);
                continue;
            }
            let Some(cells) = cells(line) else { continue };
            if cells.first().is_some_and(|first| first == "code") {
                columns = cells;
                continue;
            }
            rows.extend(row(page, &section, &columns, &cells));
        }
    }
    rows
}

fn row(page: &'static str, section: &str, columns: &[String], cells: &[String]) -> Option<Row> {
    let code = cells.first().filter(|first| is_code(first))?.clone();
    let of = |name: &str| {
        let at = columns.iter().position(|column| column == name)?;
        cells.get(at).filter(|cell| !cell.is_empty()).cloned()
    };
    let means = of("what it means").or_else(|| of("law"))?;
    let way_out = of("the way out").or_else(|| of("when it is broken"))?;
    // `## CF01: the outbox`, or the title of the page of laws.
    let section = section.split_once(": ").map_or(section, |(_, named)| named).to_owned();
    Some(Row { code, section, status: of("status"), means, way_out, page })
}

fn is_code(text: &str) -> bool {
    let digits = text.strip_prefix("CF");
    digits.is_some_and(|rest| rest.len() == 4 && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// The cells of a row of a table; a `|` that is escaped is none between cells.
fn cells(line: &str) -> Option<Vec<String>> {
    let inside = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let inside = inside.replace("\\|", "\u{1}");
    Some(inside.split('|').map(|cell| plain(&cell.replace('\u{1}', "|"))).collect())
}

/// Without backticks, and with a link as its text.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.trim();
    while let Some(at) = rest.find('[') {
        let (before, link) = rest.split_at(at);
        out.push_str(before);
        let parts = link[1..].split_once("](").and_then(|(name, tail)| {
            let (_, after) = tail.split_once(')')?;
            (!name.contains(']')).then_some((name, after))
        });
        match parts {
            Some((name, after)) => {
                out.push_str(name);
                rest = after;
            }
            None => {
                out.push('[');
                rest = &link[1..];
            }
        }
    }
    out.push_str(rest);
    out.replace('`', "")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_of_the_pages_is_found_whole_and_once() {
        let written = PAGES.iter().flat_map(|(_, text)| text.lines());
        let written = written.filter(|line| line.starts_with("| `CF")).count();
        let rows = rows();
        assert!(written > 150, "{written}");
        assert_eq!(rows.len(), written);
        let codes: BTreeSet<_> = rows.iter().map(|row| &row.code).collect();
        assert_eq!(codes.len(), written);
        for row in &rows {
            assert!(!row.means.contains('`') && !row.section.is_empty(), "{row:?}");
        }
    }

    #[test]
    fn markup_goes_and_text_stays() {
        assert_eq!(plain("see [sql.md](sql.md) for `x`, [y]"), "see sql.md for x, [y]");
        assert_eq!(cells("| `a` | b \\| c |").unwrap(), ["a", "b | c"]);
        assert_eq!(cells("no table"), None);
    }
}
