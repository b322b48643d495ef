//! Seeded shuffles, and the p that comes of them.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// Shuffles in place (Fisher & Yates); stable for a seed whatever libraries do.
pub fn shuffle<T>(items: &mut [T], random: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, random) as usize);
    }
}

/// An even draw from 0 to n − 1 (Lemire 2019).
fn below(n: u64, random: &mut ChaCha8Rng) -> u64 {
    let rejected = n.wrapping_neg() % n;
    loop {
        let wide = u128::from(random.next_u64()) * u128::from(n);
        if wide as u64 >= rejected {
            return (wide >> 64) as u64;
        }
    }
}

/// p when `reached` of `shuffles` were as extreme as the data, which count as one more: never 0.
pub fn sampled_p(reached: usize, shuffles: usize) -> f64 {
    (1 + reached) as f64 / (1 + shuffles) as f64
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn every_order_comes_as_often_as_any_other() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut items = [1, 2, 3];
            shuffle(&mut items, &mut random);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| (860..1140).contains(count)), "{seen:?}");
        assert_eq!(sampled_p(0, 9999), 0.0001);
    }
}
