//! Who the workers are.

use super::model::Member;
use std::ops::Index;

/// The workers, one by one, though what is the same of many is there once: four bytes a worker where they do not differ.
#[derive(Clone, Debug, Default)]
pub struct Members {
    kinds: Vec<Member>,
    of: Vec<u32>,
}

impl Members {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The first one, if there is any.
    pub fn first(&self) -> Option<&Member> {
        self.kinds.first()
    }

    /// All of them, in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Member> + Clone {
        self.of.iter().map(|&kind| &self.kinds[kind as usize])
    }

    /// Those that differ from the one before, each once: whatever is true of any is true of one of these.
    pub fn kinds(&self) -> &[Member] {
        &self.kinds
    }
}

impl FromIterator<Member> for Members {
    fn from_iter<I: IntoIterator<Item = Member>>(members: I) -> Members {
        let members = members.into_iter();
        let mut all = Members { kinds: Vec::new(), of: Vec::with_capacity(members.size_hint().0) };
        for member in members {
            if all.kinds.last() != Some(&member) {
                all.kinds.push(member);
            }
            all.of.push(all.kinds.len() as u32 - 1);
        }
        all
    }
}

impl Index<usize> for Members {
    type Output = Member;

    #[inline]
    fn index(&self, number: usize) -> &Member {
        &self.kinds[self.of[number] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{DelayId, Legs};
    use crate::kernel::Time;

    #[test]
    fn what_is_the_same_is_there_once() {
        let member = |class: u32| Member {
            class,
            joins_at: Time::ZERO,
            weight: 1.0,
            legs: Legs { download: DelayId::NONE, compute: DelayId::new(0), upload: DelayId::NONE },
            request: DelayId::NONE,
            gives_up: None,
            local_steps: 1,
            price_per_s: 0.0,
            paid_while_down: false,
        };
        let members: Members = [0, 0, 1, 1, 1, 0].map(member).into_iter().collect();
        assert_eq!((members.len(), members.kinds().len()), (6, 3));
        assert_eq!(members.iter().map(|member| member.class).collect::<Vec<u32>>(), [0, 0, 1, 1, 1, 0]);
        assert_eq!((members[1].class, members[4].class, members[5].class), (0, 1, 0));
    }
}
