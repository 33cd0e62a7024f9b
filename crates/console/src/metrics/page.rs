//! Writes metrics as text: the format 0.0.4 of Prometheus.
//!
//! Guarantees: each family once, with its help and type; label values are escaped. Does not: read
//! anything.

use std::fmt::Write as _;

use super::family::Family;
use super::histogram::{BOUNDS, Histogram};

/// A page in the making.
#[derive(Debug, Default)]
pub(crate) struct Page(String);

impl Page {
    /// The text.
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    /// Begins a family; its samples follow.
    pub(crate) fn begin(&mut self, family: &'static Family) -> Samples<'_> {
        let Family { name, help, kind, .. } = family;
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {}\n", kind.name());
        Samples { page: &mut self.0, family }
    }
}

/// Takes the samples of one family.
pub(crate) struct Samples<'a> {
    page: &'a mut String,
    family: &'static Family,
}

impl Samples<'_> {
    /// One value; the labels in the order of the family.
    pub(crate) fn add(&mut self, labels: &[&str], value: u64) {
        self.line("", labels, None, &value.to_string());
    }

    /// One length of time, written in seconds.
    pub(crate) fn add_micros(&mut self, labels: &[&str], micros: u64) {
        self.line("", labels, None, &seconds(micros));
    }

    /// One histogram.
    pub(crate) fn add_histogram(&mut self, labels: &[&str], histogram: &Histogram) {
        for ((_, bound), count) in BOUNDS.iter().zip(histogram.cumulated()) {
            self.line("_bucket", labels, Some(bound), &count.to_string());
        }
        let count = histogram.count().to_string();
        self.line("_bucket", labels, Some("+Inf"), &count);
        self.line("_sum", labels, None, &seconds(histogram.sum_micros()));
        self.line("_count", labels, None, &count);
    }

    fn line(&mut self, suffix: &str, labels: &[&str], bound: Option<&str>, value: &str) {
        self.page.push_str(self.family.name);
        self.page.push_str(suffix);
        let named = self.family.labels.iter().zip(labels);
        let named = named.map(|(name, value)| (*name, *value));
        let mut open = '{';
        for (name, value) in named.chain(bound.map(|bound| ("le", bound))) {
            self.page.push(open);
            open = ',';
            let _ = write!(self.page, "{name}=\"{}\"", escaped(value));
        }
        let end = if open == ',' { "} " } else { " " };
        self.page.push_str(end);
        self.page.push_str(value);
        self.page.push('\n');
    }
}

fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use counterfoil_core::domain::Span;

    use super::super::family;
    use super::*;

    #[test]
    fn a_page_is_as_the_format_says() {
        let mut page = Page::default();
        page.begin(&family::WORKERS).add(&[], 4);
        page.begin(&family::OPEN).add(&["a\\b\"c\nd", "dead"], 2);
        page.begin(&family::OLDEST_DUE).add_micros(&["x"], 1_500_000);
        let text = page.into_text();
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with("# HELP")).collect();
        assert_eq!(
            lines,
            [
                "# TYPE counterfoil_workers gauge",
                "counterfoil_workers 4",
                "# TYPE counterfoil_open_commands gauge",
                r#"counterfoil_open_commands{destination="a\\b\"c\nd",state="dead"} 2"#,
                "# TYPE counterfoil_oldest_due_age_seconds gauge",
                r#"counterfoil_oldest_due_age_seconds{destination="x"} 1.500000"#,
            ]
        );
    }

    #[test]
    fn a_histogram_ends_in_all() {
        let mut histogram = Histogram::default();
        histogram.add(Span::from_secs(90));
        let mut page = Page::default();
        page.begin(&family::DURATION).add_histogram(&["x"], &histogram);
        let text = page.into_text();
        assert!(text.contains(r#"_bucket{destination="x",le="60"} 0"#), "{text}");
        assert!(text.contains(r#"_bucket{destination="x",le="+Inf"} 1"#), "{text}");
        assert!(text.contains(r#"_sum{destination="x"} 90.000000"#), "{text}");
        assert!(text.ends_with("_count{destination=\"x\"} 1\n"), "{text}");
    }
}
