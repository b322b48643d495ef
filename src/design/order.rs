//! Run order of a block: forward, mirrored or shuffled, from a recorded seed.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::campaign::Order;

/// The order in which a block visits `points` × `arms`, as (point, arm) pairs. Blocks count from 1.
///
/// - forward: file order in every block, arms of one point adjacent;
/// - mirrored: points and the arms within each are shuffled for each pair of blocks, arms of one
///   point adjacent; the second block of the pair runs the first one backwards;
/// - shuffled: all cells shuffled anew in every block.
///
/// Points of one `group` stay together in every order: what they share is set once for all of them. Groups
/// are shuffled as points are. Each block (or pair) draws from its own stream of the seed, so the order of
/// one block never depends on another.
pub fn block_order(
    order: Order,
    seed: u64,
    block: u32,
    (points, arms): (u64, u64),
    group: &dyn Fn(u64) -> u64,
) -> Vec<(u64, u64)> {
    let mut by_group: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for point in 0..points {
        by_group.entry(group(point)).or_default().push(point);
    }
    let mut groups: Vec<Vec<u64>> = by_group.into_values().collect();
    let mut cells: Vec<(u64, u64)> = Vec::with_capacity((points * arms) as usize);
    let every = |group: Vec<u64>| group.into_iter().flat_map(move |p| (0..arms).map(move |a| (p, a)));
    match order {
        Order::Forward => cells.extend(groups.into_iter().flat_map(every)),
        Order::Shuffled => {
            let mut random = stream(seed, u64::from(block));
            shuffle(&mut groups, &mut random);
            for group in groups {
                let from = cells.len();
                cells.extend(every(group));
                shuffle(&mut cells[from..], &mut random);
            }
        }
        Order::Mirrored => {
            let mut random = stream(seed, u64::from(block.div_ceil(2)));
            shuffle(&mut groups, &mut random);
            let mut within: Vec<u64> = (0..arms).collect();
            for mut group in groups {
                shuffle(&mut group, &mut random);
                for point in group {
                    shuffle(&mut within, &mut random);
                    cells.extend(within.iter().map(|a| (point, *a)));
                }
            }
            if block.is_multiple_of(2) {
                cells.reverse();
            }
        }
    }
    cells
}

/// ChaCha8 is stable by contract; the seed is laid out here so that no library default can move it.
fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut random = ChaCha8Rng::from_seed(key);
    random.set_stream(number);
    random
}

/// Fisher–Yates, our own so that the order is the same in every version of every library.
fn shuffle<T>(items: &mut [T], random: &mut ChaCha8Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(i as u64 + 1, random) as usize);
    }
}

/// Uniform in 0..n, by rejection of the uneven rest.
fn below(n: u64, random: &mut ChaCha8Rng) -> u64 {
    let limit = u64::MAX - u64::MAX % n;
    loop {
        let draw = random.next_u64();
        if draw < limit {
            return draw % n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_order_and_another_seed_another() {
        let once = block_order(Order::Mirrored, 1, 1, (8, 2), &|_| 0);
        assert_eq!(once, block_order(Order::Mirrored, 1, 1, (8, 2), &|_| 0));
        assert_ne!(once, block_order(Order::Mirrored, 2, 1, (8, 2), &|_| 0));
        assert_ne!(once, block_order(Order::Mirrored, 1, 3, (8, 2), &|_| 0));
    }

    #[test]
    fn the_order_of_a_seed_never_moves_between_versions() {
        let order: Vec<u64> =
            block_order(Order::Shuffled, 1, 1, (8, 1), &|_| 0).into_iter().map(|(p, _)| p).collect();
        assert_eq!(order, GOLDEN);
    }
    const GOLDEN: [u64; 8] = [5, 6, 7, 3, 0, 1, 2, 4];

    #[test]
    fn every_order_visits_every_cell_once() {
        for order in [Order::Forward, Order::Mirrored, Order::Shuffled] {
            for block in 1..5 {
                let mut cells = block_order(order, 7, block, (5, 3), &|_| 0);
                cells.sort_unstable();
                assert_eq!(cells, block_order(Order::Forward, 0, 1, (5, 3), &|_| 0));
            }
        }
    }

    #[test]
    fn the_second_of_a_pair_runs_backwards_with_arms_adjacent() {
        let first = block_order(Order::Mirrored, 3, 1, (4, 2), &|_| 0);
        let mut second = block_order(Order::Mirrored, 3, 2, (4, 2), &|_| 0);
        assert!(first.chunks(2).all(|pair| pair[0].0 == pair[1].0));
        second.reverse();
        assert_eq!(first, second);
    }

    #[test]
    fn what_is_hard_to_change_is_set_once_for_its_group_in_every_order() {
        let level = |point: u64| point % 3;
        for order in [Order::Forward, Order::Mirrored, Order::Shuffled] {
            let mut first_groups = std::collections::BTreeSet::new();
            for block in 1..=12 {
                let cells = block_order(order, 7, block, (9, 2), &level);
                let settings =
                    1 + cells.windows(2).filter(|pair| level(pair[0].0) != level(pair[1].0)).count();
                assert_eq!(settings, 3, "{order:?}: {cells:?}");
                first_groups.insert(level(cells[0].0));
                let mut all = cells.clone();
                all.sort_unstable();
                assert_eq!(all, block_order(Order::Forward, 0, 1, (9, 2), &|_| 0), "every cell once");
            }
            assert_eq!(first_groups.len() == 3, order != Order::Forward, "groups are shuffled too");
        }
        let second = block_order(Order::Mirrored, 7, 2, (9, 2), &level);
        let backwards: Vec<_> =
            block_order(Order::Mirrored, 7, 1, (9, 2), &level).into_iter().rev().collect();
        assert_eq!(second, backwards);
    }

    #[test]
    fn mirrored_pairs_cancel_a_linear_drift() {
        // Case O01: each run one unit slower than the one before, two equal arms.
        let mut sums = [0i64; 2];
        let mut time = 0;
        for block in 1..=10 {
            for (_, arm) in block_order(Order::Mirrored, 1, block, (1, 2), &|_| 0) {
                sums[arm as usize] += time;
                time += 1;
            }
        }
        assert_eq!(sums[0], sums[1]);
    }
}
