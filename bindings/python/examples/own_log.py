"""A robot's own log: three beacons are found from few known poses, and the robot by them. Draws own_log.png.

    python examples/own_log.py [FOLDER]
"""

import pathlib
import sys

import numpy as np

import driftless_filters as df

BEACONS = np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 5.0]])
SENSOR = "[{name='beacons', kind='ranges', columns=[0,3]}]"


def drive(rng, steps=60):
    """Where a robot went, what its wheels said, and how far beacons were."""
    pose, states, actions = np.array([3.0, 2.0, rng.uniform(-3, 3)]), [], []
    for t in range(steps):
        # Towards the middle, more or less.
        home = np.arctan2(2.0 - pose[1], 3.0 - pose[0]) - pose[2]
        action = np.array([0.2, 0.0, 0.2 * np.sin(home) + rng.normal(0, 0.2)]) * (t > 0)
        pose = pose + [action[0] * np.cos(pose[2]), action[0] * np.sin(pose[2]), action[2]]
        pose[2] = (pose[2] + np.pi) % (2 * np.pi) - np.pi
        states.append(pose.copy())
        actions.append(action + [0.02, 0.01, 0.03] * rng.normal(size=3) * (t > 0))
    ranges = np.linalg.norm(np.array(states)[:, None, :2] - BEACONS, axis=2)
    return df.Episode(actions=actions, readings=ranges + 0.05 * rng.normal(size=ranges.shape), states=states)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rng = np.random.default_rng(4)
    episodes = [drive(rng) for _ in range(12)]
    run = folder / "beacons"
    if not run.exists():
        settings = {"trajectories": 10, "label_fraction": 0.1, "epochs": 2, "validation_episodes": 2, "sensor": SENSOR}
        tell = lambda epoch: print("epoch", epoch["epoch"], "validation", epoch["validation_rmse"])
        df.train("robot-driftless", episodes, run, settings=settings, progress=tell)

    test = drive(rng)
    tracker = df.open_run(run).tracker(pose=test.states[0].astype(float), spread=[0.3, 0.3, 0.3])
    track = [
        tracker.step(beacons=reading, odometry=action.astype(float))
        for reading, action in zip(test.readings, test.actions)
    ]
    poses = np.array([tracked.pose for tracked in track])
    errors = np.linalg.norm(poses[:, :2] - test.states[:, :2], axis=1)
    print("metres off on average:", errors.mean().round(3))
    assert errors[20:].mean() < 0.3

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.plot(*test.states[:, :2].T, "k-", label="truth")
    pyplot.plot(*poses[:, :2].T, "-", color="tab:orange", label="tracked")
    pyplot.plot(tracker.particles[:, 0], tracker.particles[:, 1], ".", markersize=2, label="particles at the end")
    pyplot.plot(*BEACONS.T, "^", color="tab:green", label="beacons")
    pyplot.gca().set_aspect("equal")
    pyplot.legend()
    pyplot.savefig(folder / "own_log.png", dpi=100)


if __name__ == "__main__":
    main()
