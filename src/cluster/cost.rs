//! What a run has cost, and what of the workers' time was of use.

use super::engine::Simulation;
use super::fault::Health;
use super::flow::Flow;
use crate::failure::Recovery;
use crate::kernel::Span;

/// What failures did to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outages {
    /// Failures of the server, those during its repair included.
    pub of_server: u64,
    /// Failures of workers.
    pub of_workers: u64,
    /// How long the server was away.
    pub server_away: Span,
    /// Optimiser steps that were undone.
    pub versions_lost: u64,
    /// How often what the server had was saved.
    pub saves: u64,
    /// How long workers were busy with gradients that were applied, and stand, in nanoseconds.
    pub useful_nanos: u128,
}

impl Simulation {
    /// What it has cost so far: the price of every server and worker for as long as it was rented, busy or not. `None` if nothing
    /// has a price.
    pub fn cost(&self) -> Option<f64> {
        self.cost_with(self.flow().map_or(&[], |flow| &flow.faults.health))
    }

    pub(super) fn cost_with(&self, health: &[Health]) -> Option<f64> {
        if !self.has_prices {
            return None;
        }
        let servers = match self.model.comeback.recovery {
            Recovery::Chain { replicas, .. } => 1.0 + f64::from(replicas),
            _ => 1.0,
        };
        let mut cost = self.model.server.price_per_s * servers * self.now.seconds();
        for (number, member) in self.model.workers.iter().enumerate().filter(|(_, member)| member.price_per_s > 0.0) {
            let rented = if member.joins_at < self.now { self.now.since(member.joins_at) } else { Span::ZERO };
            let down = health.get(number).map_or(Span::ZERO, |health| health.down(self.now)).min(rented);
            let paid = if member.paid_while_down { rented } else { rented - down };
            cost += member.price_per_s * paid.seconds();
        }
        Some(cost)
    }

    /// What failures did to it; `None` for a run in which nothing can fail, and nothing is saved.
    pub fn outages(&self) -> Option<Outages> {
        let model = &self.model;
        let some = !model.failures.is_empty() || model.comeback.recovery.saves();
        self.flow().filter(|_| some).map(|flow| flow.outages(self))
    }
}

impl Flow {
    fn outages(&self, run: &Simulation) -> Outages {
        Outages {
            of_server: self.store.failures,
            of_workers: self.faults.of_workers,
            server_away: Span::from_nanos(self.server.away_nanos(run.now)),
            versions_lost: self.store.versions_lost,
            saves: self.store.saves,
            useful_nanos: self.store.useful_nanos,
        }
    }
}
