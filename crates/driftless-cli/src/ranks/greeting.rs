//! What ranks tell each other first: programs and processors that differ would come to other numbers.

use crate::queue::host::{Host, instructions};
use anyhow::{Result, ensure};
use driftless::learn::Ranks;

/// One rank's program and machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    version: String,
    instructions: String,
    /// The machine's name.
    pub host: String,
}

impl Greeting {
    /// This process's.
    pub fn own() -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { version, instructions: instructions(), host: Host::this().name }
    }

    /// Those of all ranks. Lines of text: all versions can read them.
    pub fn all(ranks: &dyn Ranks) -> Result<Vec<Self>> {
        let Self { version, instructions, host } = Self::own();
        let all = ranks.gather(format!("{version}\n{instructions}\n{host}").into_bytes())?;
        Ok(all.iter().map(|bytes| Self::read(&String::from_utf8_lossy(bytes))).collect())
    }

    fn read(text: &str) -> Self {
        let mut lines = text.lines().map(str::to_owned);
        let mut next = || lines.next().unwrap_or_default();
        Self { version: next(), instructions: next(), host: next() }
    }
}

/// Fails if a rank has another program or another kind of processor than rank 0.
pub fn check(all: &[Greeting]) -> Result<()> {
    let first = &all[0];
    for (rank, own) in all.iter().enumerate() {
        ensure!(
            own.version == first.version,
            "rank {rank} on {} runs version {} of driftless, and rank 0 on {} version {}; take the same program for all",
            own.host,
            own.version,
            first.host,
            first.version
        );
        ensure!(
            own.instructions == first.instructions,
            "rank {rank} on {} computes with {}, and rank 0 on {} with {}, which round otherwise; take one kind of node \
             for all (Slurm: --constraint)",
            own.host,
            own.instructions,
            first.host,
            first.instructions
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless::learn::Played;

    #[test]
    fn all_greet_all() {
        let found = Played::each(3, |ranks| Greeting::all(&ranks).unwrap());
        assert!(found.iter().all(|all| *all == vec![Greeting::own(); 3]));
    }

    #[test]
    fn others_are_named() {
        let own = |version: &str, instructions: &str, host: &str| {
            Greeting::read(&format!("{version}\n{instructions}\n{host}"))
        };
        let first = own("0.2.0", "avx2", "node1");
        let said = |other: Greeting| check(&[first.clone(), first.clone(), other]).unwrap_err().to_string();
        assert!(check(&[first.clone(), own("0.2.0", "avx2", "node2")]).is_ok());
        let older = said(own("0.1.9", "avx2", "node7"));
        assert!(older.starts_with(
            "rank 2 on node7 runs version 0.1.9 of driftless, and rank 0 on node1 version 0.2.0"
        ));
        let wider = said(own("0.2.0", "avx512", "node7"));
        assert!(
            wider.starts_with("rank 2 on node7 computes with avx512, and rank 0 on node1 with avx2"),
            "{wider}"
        );
    }
}
