//! Numbers for people.

/// `value` as it is if that is short, else to five significant digits.
pub fn number(value: f64) -> String {
    let plain = format!("{value}");
    if plain.len() <= 8 || !value.is_finite() {
        return plain;
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..7.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (4.0 - magnitude).max(0.0) as usize;
    format!("{value:.decimals$}")
}

/// `value` to five significant digits at most, or all of a whole number: for figures that stand beside each other.
pub fn figure(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e12 {
        return format!("{value}");
    }
    if !value.is_finite() {
        return number(value);
    }
    let decimals = (4.0 - value.abs().log10().floor()) as i32;
    let step = 10f64.powi(decimals.clamp(-300, 300));
    number((value * step).round() / step)
}

/// `value`, or a dash where there is none.
pub fn maybe(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), figure)
}

/// A share in per cent.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A size in bytes.
pub fn bytes(size: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let step = (size.max(1.0).log2() / 10.0).floor().min(6.0);
    format!("{:.3} {}", size / 1024f64.powf(step), units[step as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_stay_exact_and_long_ones_are_rounded() {
        assert_eq!(number(0.03125), "0.03125");
        assert_eq!(number(-2.25), "-2.25");
        assert_eq!(number(std::f64::consts::PI), "3.1416");
        assert_eq!(number(2.0 / 3.0), "0.66667");
        assert_eq!(number(1.0 / 30000.0), "3.333e-5");
        assert_eq!(number(123_456_789.25), "1.235e8");
        assert_eq!(number(1_000_000.0), "1000000");
        assert_eq!(maybe(None), "–");
        assert_eq!(
            [8.99955, 331.7062, 0.0, 98765.4, 199_999.0].map(figure),
            ["8.9996", "331.71", "0", "98765", "199999"]
        );
    }

    #[test]
    fn sizes_have_the_unit_that_fits() {
        assert_eq!(bytes(1536.0), "1.500 KiB");
        assert_eq!(bytes(0.0), "0.000 B");
    }
}
