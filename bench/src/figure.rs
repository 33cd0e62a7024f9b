//! One figure: ours, the raw limit beside it, their ratio, and the goal.
//!
//! Guarantees: medians of interleaved rounds. Does not: judge; `met` only compares with the goal.

use serde::Serialize;

/// One line of the report.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    /// Its name in `docs/benchmarks.md`.
    pub(crate) name: String,
    /// What was measured, ids and body included.
    pub(crate) what: String,
    /// Ours.
    pub(crate) ours: f64,
    /// The raw limit in the same run; 0 where there is none.
    pub(crate) limit: f64,
    /// The unit of both.
    pub(crate) unit: &'static str,
    /// `ours / limit`.
    pub(crate) ratio: f64,
    /// What is to be reached, for people.
    pub(crate) goal: String,
    /// Whether the goal is met.
    pub(crate) met: bool,
    /// More figures of the same run.
    pub(crate) more: Vec<(String, f64)>,
}

/// All lines.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    figures: Vec<Figure>,
}

impl Report {
    pub(crate) fn add(&mut self, figure: Figure) {
        print_line(&figure);
        self.figures.push(figure);
    }

    /// A table of Markdown, as it stands in the docs.
    #[allow(clippy::print_stdout, reason = "the report is the output of this program")]
    pub(crate) fn print(&self) {
        println!("\n| figure | what | ours | raw limit | ratio | goal | met |");
        println!("|---|---|---|---|---|---|---|");
        for f in &self.figures {
            let met = if f.met { "yes" } else { "no" };
            println!(
                "| {} | {} | {} {} | {} | {:.2} | {} | {met} |",
                f.name,
                f.what,
                number(f.ours),
                f.unit,
                number(f.limit),
                f.ratio,
                f.goal
            );
        }
    }
}

fn print_line(figure: &Figure) {
    let more: Vec<_> =
        figure.more.iter().map(|(name, value)| format!("{name} {}", number(*value))).collect();
    eprintln!(
        "{} {}: {} {} (limit {}, ratio {:.2}) {}",
        figure.name,
        figure.what,
        number(figure.ours),
        figure.unit,
        number(figure.limit),
        figure.ratio,
        more.join(", ")
    );
}

fn number(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

/// The median of `values`, 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// The value below which `share` (0–1) of `values` lie, 0 of none.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}
