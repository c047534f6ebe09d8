//! A random number generator with the same sequence in every run.

/// Marsaglia's xorshift: the same seed produces the same numbers.
#[derive(Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn seeded(seed: u64) -> Self {
        // Zero is the only state that the generator never leaves.
        Self(seed.max(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`, or zero when `end` is zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        // The high half of the product is as evenly distributed as the factor.
        usize::try_from((u128::from(self.next()) * end as u128) >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_even_and_repeatable() {
        let (mut one, mut other) = (Rng::seeded(7), Rng::seeded(7));
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            let drawn = one.below(10);
            assert_eq!(drawn, other.below(10));
            seen.iter_mut().skip(drawn).take(1).for_each(|count| *count += 1);
        }
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
        assert_eq!(one.below(0), 0);
    }
}
