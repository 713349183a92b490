"""Against PyPI's `particles`: the same numpy functions, the same answers within Monte Carlo error."""

import numpy as np
import pytest

import driftless_filters as df

particles = pytest.importorskip("particles", reason="SKIPPED: pip install particles compares with it")


def test_same_functions_same_answers():
    rng = np.random.default_rng(1)
    ys = np.cumsum(rng.normal(size=40)) * 0.3

    def move(x):
        return 0.9 * x + 0.5 * np.random.standard_normal(x.shape)

    def score(x, y):
        return -0.5 * ((y - x) / 0.8) ** 2 - np.log(0.8 * np.sqrt(2 * np.pi))

    class Model(particles.FeynmanKac):
        def M0(self, N):
            return np.random.standard_normal(N)

        def M(self, t, xp):
            return move(xp)

        def logG(self, t, xp, x):
            return score(x, ys[t])

    theirs, ours = [], []
    for seed in range(12):
        np.random.seed(seed)
        moments = particles.collectors.Moments()
        smc = particles.SMC(fk=Model(T=len(ys)), N=2000, resampling="systematic", ESSrmin=0.5, collect=[moments])
        smc.run()
        theirs.append([m["mean"] for m in smc.summaries.moments] + [smc.summaries.logLts[-1]])
        f = df.ParticleFilter(
            lambda x, a, z: move(x), score, initial=np.random.standard_normal(2000), seed=seed
        )
        run = f.run(ys)
        ours.append([*run.mean, run.log_evidence.sum()])
    theirs, ours = np.array(theirs), np.array(ours)
    standard = np.sqrt((theirs.var(axis=0, ddof=1) + ours.var(axis=0, ddof=1)) / 12)
    # 41 numbers: Student's t of 22 degrees of freedom is beyond 5 with a probability of 5e-5 each.
    assert (np.abs(theirs.mean(axis=0) - ours.mean(axis=0)) < 5 * standard).all()
