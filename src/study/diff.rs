//! Where two runs part: the first event that is not the same in both.

use super::run::Prepared;
use crate::cluster::{Simulation, Upcoming};
use crate::error::Result;

/// How two runs compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Parting {
    /// Events that both had in common.
    pub common: u64,
    /// What comes next in each; `None` if that run is over.
    pub next: [Option<Upcoming>; 2],
    /// Whether both are over, or the events differ at all; the parameters may differ all the same.
    pub apart: bool,
    /// The first step after which the parameters were not the same, though all events before it were.
    pub parameters_from: Option<u64>,
}

/// Plays two runs side by side until their events differ, or both are over.
///
/// # Errors
/// If either fails.
pub fn diff(a: Prepared, b: Prepared) -> Result<Parting> {
    let (mut a, mut b) = (Simulation::new(a.model), Simulation::new(b.model));
    let (mut common, mut parameters_from) = (0, None);
    loop {
        let next = [a.upcoming(), b.upcoming()];
        if next[0] != next[1] || next == [None, None] {
            return Ok(Parting { common, apart: next[0] != next[1], next, parameters_from });
        }
        a.advance(1, &mut ())?;
        b.advance(1, &mut ())?;
        common += 1;
        if parameters_from.is_none() && a.parameters() != b.parameters() {
            parameters_from = Some(a.updates());
        }
    }
}
