//! Classic test functions of optimisation, from the argmin_testfunctions crate, where their formulas are given.

use super::Objective;
use crate::error::{Error, Result};
use argmin_testfunctions as library;
use serde::{Deserialize, Serialize};

/// Which test function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "these are proper names")]
pub enum Function {
    Ackley,
    Beale,
    Booth,
    Himmelblau,
    Levy,
    Matyas,
    Rastrigin,
    Rosenbrock,
    StyblinskiTang,
}

/// A test function in a given dimension.
#[derive(Debug)]
pub struct Classic {
    function: Function,
    minimiser: Vec<f64>,
}

impl Classic {
    /// Some of the functions exist in two parameters only.
    pub fn new(function: Function, dimension: usize) -> Result<Classic> {
        use Function::*;
        let minimiser = match function {
            Ackley | Rastrigin => vec![0.0; dimension],
            Levy | Rosenbrock => vec![1.0; dimension],
            // The root of 4x³ − 32x + 5 that is least, to the last bit of a double.
            StyblinskiTang => vec![-2.903_534_027_771_177; dimension],
            Beale => vec![3.0, 0.5],
            Booth => vec![1.0, 3.0],
            Himmelblau => vec![3.0, 2.0],
            Matyas => vec![0.0, 0.0],
        };
        if minimiser.len() != dimension || (dimension < 2 && matches!(function, Levy | Rosenbrock)) {
            let wanted = if minimiser.len() == dimension { "at least 2" } else { "exactly 2" };
            let reason = format!("Classic: {function:?} has {wanted} parameters, not {dimension}");
            return Err(Error::Invalid(reason));
        }
        Ok(Classic { function, minimiser })
    }
}

/// The first two of at least two parameters, as the two-dimensional functions want them.
fn pair(w: &[f64]) -> &[f64; 2] {
    w.first_chunk().unwrap_or(&[0.0; 2])
}

impl Objective for Classic {
    fn dimension(&self) -> usize {
        self.minimiser.len()
    }
    fn loss(&self, w: &[f64]) -> f64 {
        match self.function {
            Function::Ackley => library::ackley(w),
            Function::Beale => library::beale(pair(w)),
            Function::Booth => library::booth(pair(w)),
            Function::Himmelblau => library::himmelblau(pair(w)),
            Function::Levy => library::levy(w),
            Function::Matyas => library::matyas(pair(w)),
            Function::Rastrigin => library::rastrigin(w),
            Function::Rosenbrock => library::rosenbrock(w),
            Function::StyblinskiTang => library::styblinski_tang(w),
        }
    }
    /// The library's functions of any dimension return a new vector at every call.
    fn gradient(&self, w: &[f64], gradient: &mut [f64]) {
        let in_two = |derivative: [f64; 2], gradient: &mut [f64]| gradient.copy_from_slice(&derivative);
        match self.function {
            Function::Ackley => gradient.copy_from_slice(&library::ackley_derivative(w)),
            Function::Beale => in_two(library::beale_derivative(pair(w)), gradient),
            Function::Booth => in_two(library::booth_derivative(pair(w)), gradient),
            Function::Himmelblau => in_two(library::himmelblau_derivative(pair(w)), gradient),
            Function::Levy => gradient.copy_from_slice(&library::levy_derivative(w)),
            Function::Matyas => in_two(library::matyas_derivative(pair(w)), gradient),
            Function::Rastrigin => gradient.copy_from_slice(&library::rastrigin_derivative(w)),
            Function::Rosenbrock => gradient.copy_from_slice(&library::rosenbrock_derivative(w)),
            Function::StyblinskiTang => gradient.copy_from_slice(&library::styblinski_tang_derivative(w)),
        }
    }
    fn minimiser(&self) -> Option<&[f64]> {
        Some(&self.minimiser)
    }
    fn curvature(&self) -> Option<(f64, f64)> {
        match self.function {
            // Hessians [[10, 8], [8, 10]] and [[0.52, −0.48], [−0.48, 0.52]] everywhere.
            Function::Booth => Some((2.0, 18.0)),
            Function::Matyas => Some((0.04, 1.0)),
            _ => None,
        }
    }
}
