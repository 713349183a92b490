//! Which houses are for training, validation and testing: three sets that cannot meet.
//!
//! House `number` of a split has the seed `mix(mix(seed) ^ (3 * number + tag))` with tags 0, 1
//! and 2. `mix` is a bijection of 64-bit words and `3 * number + tag` names the pair uniquely, so
//! for one data-set seed no two houses share a seed, within a split or across.

use crate::error::{Error, Result};

/// What a house is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// To learn from.
    Train,
    /// To choose by.
    Valid,
    /// To report on.
    Test,
}

/// Numbers above this would wrap around and meet others.
const MOST_HOUSES: u64 = 1 << 60;

impl Split {
    /// All splits, in the order of their tags.
    pub const ALL: [Self; 3] = [Self::Train, Self::Valid, Self::Test];

    /// The seed of house `number` of this split in the data set named by `seed`.
    pub fn house_seed(self, seed: u64, number: u64) -> Result<u64> {
        if number >= MOST_HOUSES {
            return Err(Error::new(format!("house {number} does not exist; numbers end below 2^60")));
        }
        Ok(mix(mix(seed) ^ (3 * number + self as u64)))
    }
}

/// The output function of SplitMix64 after one increment: invertible, and every bit depends on all.
fn mix(word: u64) -> u64 {
    let z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::plan::HousePlan;
    use std::collections::HashSet;

    /// The first 300 houses of each split: all plans differ, not only their seeds.
    #[test]
    fn no_two_houses_coincide() {
        let mut seen = HashSet::new();
        for split in Split::ALL {
            for number in 0..300 {
                let plan = HousePlan::generate(split.house_seed(11, number).unwrap());
                assert!(seen.insert(format!("{plan:?}")), "{split:?} {number} was there before");
            }
        }
        assert_eq!(seen.len(), 900);
    }

    #[test]
    fn seeds_are_spread_and_numbers_checked() {
        let all: HashSet<u64> =
            (0..1000).flat_map(|n| Split::ALL.map(|split| split.house_seed(3, n).unwrap())).collect();
        assert_eq!(all.len(), 3000);
        assert!(Split::Test.house_seed(0, MOST_HOUSES).is_err());
        assert_ne!(Split::Train.house_seed(0, 0).unwrap(), Split::Train.house_seed(1, 0).unwrap());
    }
}
