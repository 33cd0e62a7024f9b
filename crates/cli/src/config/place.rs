//! A place in the configuration file, shown as its line with a caret.
//!
//! Guarantees: line and column count from 1, in characters. Does not: show lines that may hold a
//! secret; callers ask for the line number alone there.

use std::ops::Range;

/// The text of a configuration file and what it is called.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    /// The file, as it was named.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

impl Page {
    /// `name:line:column`.
    pub(crate) fn at(&self, span: &Range<usize>) -> String {
        let (line, column, _) = self.locate(span.start);
        format!("{}:{line}:{column}", self.name)
    }

    /// The line of `span` with carets below it, as three lines.
    pub(crate) fn caret(&self, span: &Range<usize>) -> String {
        let (line, column, text) = self.locate(span.start);
        let number = line.to_string();
        let pad = " ".repeat(number.len());
        let rest = text.chars().count().saturating_sub(column - 1).max(1);
        let marked = self.text.get(span.clone()).map_or(1, |marked| marked.chars().count());
        let carets = "^".repeat(marked.clamp(1, rest));
        let before = " ".repeat(column - 1);
        format!("{pad} |\n{number} | {text}\n{pad} | {before}{carets}")
    }

    /// The whole line.
    pub(crate) fn line(&self, span: &Range<usize>) -> &str {
        self.locate(span.start).2
    }

    fn locate(&self, at: usize) -> (usize, usize, &str) {
        let before = self.text.get(..at).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |n| n + 1);
        let column = before[start..].chars().count() + 1;
        let text = self.text[start..].lines().next().unwrap_or_default();
        (line, column, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_below_the_value() {
        let text = "[relay]\nlease = \"很久\"\n".to_owned();
        let page = Page { name: "c.toml".into(), text };
        let span = 16..24;
        assert_eq!(page.at(&span), "c.toml:2:9");
        assert_eq!(page.caret(&span), "  |\n2 | lease = \"很久\"\n  |         ^^^^");
    }

    #[test]
    fn a_place_beyond_the_end_is_the_end() {
        let page = Page { name: "c.toml".into(), text: "a = 1".into() };
        assert_eq!(page.at(&(99..100)), "c.toml:1:6");
        assert!(page.caret(&(5..5)).ends_with('^'));
    }
}
