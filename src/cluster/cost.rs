//! What a run has cost, and what of the workers' time was of use.

use super::engine::Simulation;
use super::fault::Health;
use super::flow::Flow;
use super::shard::ShardFigures;
use super::shards::{Apart, Shards};
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
            _ => self.model.shards.len().max(1) as f64,
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
        match (self.flow(), self.shards()) {
            (Some(flow), _) if some => Some(flow.outages(self)),
            (_, Some(shards)) if some => Some(shards.outages(self)),
            _ => None,
        }
    }

    /// How long workers were busy with gradients that were applied, and stand, and with those that were undone, in nanoseconds.
    pub fn applied_nanos(&self) -> (u128, u128) {
        match (self.flow(), self.shards()) {
            (Some(flow), _) => (flow.store.useful_nanos, flow.store.undone_nanos),
            (_, Some(shards)) => (shards.useful_nanos, shards.undone_nanos),
            // From reading to applying a worker is busy with one gradient.
            _ => (self.books().map(|books| books.lag_nanos).sum(), 0),
        }
    }

    /// What is known of each shard of the server, and how far apart they were; `None` if it is whole.
    pub fn sharded(&self) -> Option<(Vec<ShardFigures>, Apart)> {
        self.shards().map(|shards| (shards.figures(self), shards.apart()))
    }
}

impl Shards {
    fn outages(&self, run: &Simulation) -> Outages {
        let all = self.figures(run);
        let away: u64 = all.iter().map(|shard| shard.away.nanos()).sum();
        Outages {
            of_server: all.iter().map(|shard| shard.failures).sum(),
            of_workers: 0,
            server_away: Span::from_nanos(away / all.len() as u64),
            versions_lost: all.iter().map(|shard| shard.versions_lost).sum(),
            saves: all.iter().map(|shard| shard.saves).sum(),
        }
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
        }
    }
}
