"""A filter of a model of your own: a ball that is seen by its bearing alone, from two places. Draws own_model.png.

    python examples/own_model.py [FOLDER]
"""

import pathlib
import sys

import numpy as np

import driftless_filters as df

CAMERAS = np.array([[-2.0, 0.0], [2.0, 0.0]])
STEP, SPREAD = 0.1, 0.03


def motion(particles, action, noise):
    """Position and velocity under gravity, with a little wind."""
    x, y, vx, vy = particles.T
    wind = 2.0 * noise[:, :2].T
    return np.stack([x + STEP * vx, y + STEP * vy, vx + STEP * wind[0], vy + STEP * (wind[1] - 9.81)], axis=1)


def bearings(positions):
    apart = positions[:, None] - CAMERAS
    return np.arctan2(apart[..., 1], apart[..., 0])


def likelihood(particles, seen):
    return -0.5 * (((bearings(particles[:, :2]) - seen) / SPREAD) ** 2).sum(axis=1)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rng = np.random.default_rng(1)
    truth = [np.array([[-1.5, 1.0, 2.0, 7.0]])]
    for _ in range(11):
        truth.append(motion(truth[-1], None, rng.normal(size=(1, 4))))
    truth = np.concatenate(truth)
    observations = [bearings(state[None, :2])[0] + SPREAD * rng.normal(size=2) for state in truth]
    observations[6] = observations[7] = None  # behind a tree

    initial = np.array([-1.0, 1.5, 0.0, 5.0]) + np.array([1.0, 1.0, 3.0, 3.0]) * rng.normal(size=(20_000, 4))
    found = df.ParticleFilter(motion, likelihood, initial=initial, seed=2).run(observations, history=True)
    errors = np.linalg.norm(found.mean[:, :2] - truth[:, :2], axis=1)
    print("metres off at the end:", errors[-1].round(3), " steps without a view:", int((~found.seen).sum()))
    assert errors[3:].mean() < 0.3, errors

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for cloud in found.particles[1:]:
        pyplot.plot(cloud[::10, 0], cloud[::10, 1], ",", color="tab:blue", alpha=0.5)
    pyplot.plot(*truth[:, :2].T, "k-", label="truth")
    pyplot.plot(*found.mean[:, :2].T, "o-", color="tab:orange", label="mean of the belief")
    pyplot.plot(*CAMERAS.T, "^", color="tab:green", label="cameras")
    pyplot.gca().set(xlim=(-3, 4), ylim=(-1, 6), aspect="equal")
    pyplot.legend()
    pyplot.savefig(folder / "own_model.png", dpi=100)


if __name__ == "__main__":
    main()
