"""Time of a step against PyPI's `particles`, as ratios of one run: x' = 0.9 x + N(0, 0.5²), y = x + N(0, 0.8²).

    python benches/filters.py [--rounds 5]

Programs take turns, so that a noisy neighbour disturbs all of them alike: `particles` with numpy functions (its fastest
form, a FeynmanKac class), `particles` as its documentation begins (a StateSpaceModel of distributions), our filter with the
same numpy functions, ours with its own random numbers, and ours with compiled pieces. The best round of each counts, in
processor time. All resample systematically when half of the particles count. Needs `pip install particles`.
"""

import argparse
import time

import numpy as np
import particles
from particles import distributions, state_space_models

import driftless_filters as df

STEPS = {100: 400, 1_000: 400, 10_000: 100, 100_000: 20}
rng = np.random.default_rng(7)


def move(x):
    return 0.9 * x + 0.5 * rng.standard_normal(x.shape)


def score(x, y):
    return -0.5 * ((y - x) / 0.8) ** 2 - np.log(0.8 * np.sqrt(2 * np.pi))


class Model(particles.FeynmanKac):
    """The same functions, as `particles` wants them."""

    def __init__(self, ys):
        super().__init__(T=len(ys))
        self.ys = ys

    def M0(self, N):
        return rng.standard_normal(N)

    def M(self, t, xp):
        return move(xp)

    def logG(self, t, xp, x):
        return score(x, self.ys[t])


def theirs(ys, count):
    smc = particles.SMC(fk=Model(ys), N=count, resampling="systematic", ESSrmin=0.5)
    smc.run()
    return smc.summaries.logLts[-1]


class Documented(state_space_models.StateSpaceModel):
    """The same model, as the documentation of `particles` writes models."""

    def PX0(self):
        return distributions.Normal()

    def PX(self, t, xp):
        return distributions.Normal(loc=0.9 * xp, scale=0.5)

    def PY(self, t, xp, x):
        return distributions.Normal(loc=x, scale=0.8)


def documented(ys, count):
    fk = state_space_models.Bootstrap(ssm=Documented(), data=ys)
    smc = particles.SMC(fk=fk, N=count, resampling="systematic", ESSrmin=0.5)
    smc.run()
    return smc.summaries.logLts[-1]


def functions(ys, count):
    f = df.ParticleFilter(lambda x, a, z: move(x), score, noise=0, initial=rng.standard_normal(count))
    return f.run(ys).log_evidence.sum()


def with_our_noise(ys, count):
    def motion(x, action, noise):
        return np.float32(0.9) * x + np.float32(0.5) * noise

    f = df.ParticleFilter(motion, score, initial=rng.standard_normal(count))
    return f.run(ys).log_evidence.sum()


def compiled(ys, count):
    motion, sensor = df.LinearMotion(0.9, 0.25), df.LinearSensor(1.0, 0.64)
    f = df.ParticleFilter(motion, sensor, initial=rng.standard_normal(count))
    return f.run(ys).log_evidence.sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    programs = [theirs, documented, functions, with_our_noise, compiled]
    names = ["particles", "documented", "same functions", "our noise", "compiled"]
    print("        N" + "".join(f"{name:>18}" for name in names) + "   (µs a step; how often faster than `particles`)")
    for count, steps in STEPS.items():
        ys = observations(steps)
        best, evidence = [np.inf] * len(programs), []
        for _ in range(rounds):
            for k, program in enumerate(programs):
                began = time.process_time()
                evidence.append(program(ys, count))
                best[k] = min(best[k], (time.process_time() - began) / steps * 1e6)
        # All estimate one number, whose standard error is about sqrt(steps / N).
        assert np.ptp(evidence) < 8 * np.sqrt(steps / count) + 0.1, evidence
        print(f"{count:9,}" + "".join(f"{each:10.1f} ({best[0] / each:4.1f}x)" for each in best))


def observations(steps):
    """Of the model itself."""
    x, ys = rng.standard_normal(), []
    for _ in range(steps):
        ys.append(x + 0.8 * rng.standard_normal())
        x = move(np.array([x]))[0]
    return np.array(ys)


if __name__ == "__main__":
    main()
