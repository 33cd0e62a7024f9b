//! `concurrency` and `rate`: how much this relay gives one destination.
//!
//! Guarantees: within their bounds, with the form shown where one is wrong. Does not: belong to
//! the contract; each relay has its own.

use counterfoil_core::domain::Span;
use counterfoil_core::domain::rate::Rate;
use counterfoil_relay::Limits;

use super::destination::Reading;
use crate::exit::Failure;

/// The most attempts under way at once that may be asked for.
const CONCURRENCY_MAX: u32 = 10_000;
/// The most sends that may be asked for in one unit of time.
const COUNT_MAX: u32 = 1_000_000;
/// The way to write a rate.
const FORM: &str = "write a count and a unit of time (s, min, h), such as \"200/s\" or \"90/min\"";

impl Reading<'_> {
    /// The limits of this relay there.
    pub(super) fn limits(&self) -> Result<Limits, Failure> {
        let mut limits = Limits::default();
        if let Some(value) = &self.table().concurrency {
            let concurrency = *value.get_ref();
            if !(1..=CONCURRENCY_MAX).contains(&concurrency) {
                let why = format!("`{}`: give 1 to {CONCURRENCY_MAX}", self.key("concurrency"));
                return Err(self.page.refuse(&value.span(), &why));
            }
            limits = limits.concurrency(concurrency as usize);
        }
        if let Some(value) = &self.table().rate {
            let rate = parse(&self.text("rate", value)?);
            limits = limits.rate(rate.map_err(|why| self.refuse_value("rate", value, &why))?);
        }
        Ok(limits)
    }
}

fn parse(text: &str) -> Result<Rate, String> {
    let refused = || format!("{text:?} is no rate: {FORM}");
    let (count, unit) = text.split_once('/').ok_or_else(refused)?;
    let per = match unit.trim() {
        "s" => Span::from_secs(1),
        "min" => Span::from_secs(60),
        "h" => Span::from_secs(3600),
        _ => return Err(refused()),
    };
    let count = count.trim();
    if count.is_empty() || !count.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused());
    }
    match count.parse::<u32>() {
        Ok(count) if (1..=COUNT_MAX).contains(&count) => Ok(Rate { count, per }),
        _ => Err(format!("{text:?}: the count is 1 to {COUNT_MAX}; to stop sends, `pause`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_count_and_a_unit() {
        let rate = |text| parse(text).map(|rate| (rate.count, rate.per));
        assert_eq!(rate("200/s"), Ok((200, Span::from_secs(1))));
        assert_eq!(rate("90 / min"), Ok((90, Span::from_secs(60))));
        assert_eq!(rate("1/h"), Ok((1, Span::from_secs(3600))));
        for text in ["", "200", "/s", "200/", "200/d", "-1/s", "+1/s", "1.5/s", "s/200"] {
            assert!(parse(text).unwrap_err().contains("such as \"200/s\""), "{text}");
        }
        for text in ["0/s", "1000001/s", "99999999999/s"] {
            assert!(parse(text).unwrap_err().contains("1 to 1000000"), "{text}");
        }
    }
}
