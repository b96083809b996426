//! Numbers that know what they may be: checked once, where they are read, and trusted ever after.
//!
//! RON reads `NaN`, `inf` and `1e999` happily; these types refuse them, at the value's own line and column.

use serde::{Deserialize, Serialize};

/// Defines a checked `f64` and its conversions both ways, so that it reads and prints as a plain number.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $valid:expr, $expected:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            /// `value`, or a sentence that says what was expected.
            pub fn new(value: f64) -> Result<$name, String> {
                let valid: fn(f64) -> bool = $valid;
                if value.is_finite() && valid(value) {
                    Ok($name(value))
                } else {
                    Err(format!(concat!("expected ", $expected, ", got {}"), value))
                }
            }

            /// The plain number.
            #[inline]
            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = String;
            fn try_from(value: f64) -> Result<$name, String> {
                $name::new(value)
            }
        }

        impl From<$name> for f64 {
            fn from(value: $name) -> f64 {
                value.0
            }
        }
    };
}

/// The longest duration that the clock can show, in seconds: about 73 years.
pub const MAX_SECONDS: f64 = 2_305_843_009.0;

number!(
    /// Any finite number.
    Finite, |_| true, "a finite number"
);
number!(
    /// A finite number above zero.
    Positive, |value| value > 0.0, "a finite number above 0"
);
number!(
    /// A finite number, zero or more.
    NonNegative, |value| value >= 0.0, "a finite number, 0 or more"
);
number!(
    /// A duration or instant in seconds that fits the clock.
    Seconds, |value| (0.0..=MAX_SECONDS).contains(&value), "seconds from 0 to 2305843009 (73 years)"
);
number!(
    /// A probability or share, 0 to 1.
    Probability, |value| (0.0..=1.0).contains(&value), "a number from 0 to 1"
);
number!(
    /// A factor from 0 up to, but not including, 1: a momentum or a decay.
    Fraction, |value| (0.0..1.0).contains(&value), "a number from 0 up to, but not including, 1"
);
number!(
    /// A correlation strictly between −1 and 1.
    Correlation, |value| value.abs() < 1.0, "a number above -1 and below 1"
);
number!(
    /// A momentum strictly between −1 and 1. A negative one is the best under delay, so it is allowed.
    Momentum, |value| value.abs() < 1.0, "a number above -1 and below 1"
);

/// Fields of these types that a scenario leaves out are 0.
macro_rules! zero_by_default {
    ($($name:ident),*) => {
        $(impl Default for $name {
            fn default() -> $name {
                $name(0.0)
            }
        })*
    };
}

zero_by_default!(Finite, NonNegative, Seconds, Probability);

/// A whole number, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Count(u64);

impl Default for Count {
    fn default() -> Count {
        Count::ONE
    }
}

impl Count {
    /// One.
    pub const ONE: Count = Count(1);

    /// `value`, or a sentence that says what was expected.
    pub fn new(value: u64) -> Result<Count, String> {
        if value == 0 { Err("expected a whole number, 1 or more, got 0".to_owned()) } else { Ok(Count(value)) }
    }

    /// The plain number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for Count {
    type Error = String;
    fn try_from(value: u64) -> Result<Count, String> {
        Count::new(value)
    }
}

impl From<Count> for u64 {
    fn from(value: Count) -> u64 {
        value.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_are_refused_by_every_type() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Finite::new(bad).is_err() && Positive::new(bad).is_err() && NonNegative::new(bad).is_err());
            assert!(Seconds::new(bad).is_err() && Probability::new(bad).is_err() && Correlation::new(bad).is_err());
        }
    }

    #[test]
    fn bounds_are_where_the_names_say() {
        assert!(Positive::new(0.0).is_err() && NonNegative::new(0.0).is_ok() && NonNegative::new(-1e-300).is_err());
        assert!(Probability::new(1.0).is_ok() && Fraction::new(1.0).is_err() && Correlation::new(-1.0).is_err());
        assert!(Seconds::new(MAX_SECONDS).is_ok() && Seconds::new(2.4e9).is_err());
        assert!(Count::new(0).is_err() && Count::new(1) == Ok(Count::ONE));
    }

    #[test]
    fn they_print_as_the_numbers_that_they_are() {
        assert_eq!(ron::to_string(&Positive::new(0.05).unwrap()), Ok("0.05".to_owned()));
        assert_eq!(ron::from_str::<Positive>("5e-2"), Ok(Positive(0.05)));
        assert!(ron::from_str::<Positive>("1e999").is_err());
    }
}
