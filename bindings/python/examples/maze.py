"""A maze: walks are simulated, a filter learns for a moment from one label in ten, and follows a walk. Draws maze.png.

    python examples/maze.py [FOLDER]

Thirty walks and two epochs show how it is done, not how well: docs/training.md says what a real training takes.
"""

import pathlib
import sys

import numpy as np

import driftless_filters as df


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    walks, run = folder / "walks.npz", folder / "maze"
    df.simulate("maze1", episodes=34, steps=40, seed=1, out=walks)
    if not run.exists():
        settings = {"trajectories": 30, "epochs": 2, "validation_episodes": 4, "label_fraction": 0.1}
        tell = lambda epoch: print("epoch", epoch["epoch"], "loss", round(epoch["loss"], 3))
        df.train("maze-driftless", walks, run, settings=settings, progress=tell)

    walk = df.simulate("maze1", episodes=1, steps=40, seed=99, odometry_noise=0.1)[0]
    tracker = df.open_run(run).tracker(pose=walk.states[0].astype(float), spread=[20.0, 20.0, 0.1], seed=1)
    clouds, poses = [], []
    for image, action in zip(walk.images, walk.actions):
        poses.append(tracker.step(image=image, odometry=action.astype(float)).pose)
        clouds.append(tracker.particles)
    poses = np.array(poses)
    errors = np.linalg.norm(poses[:, :2] - walk.states[:, :2], axis=1)
    print("units off on average:", errors.mean().round(1), "of a walk of", np.ptp(walk.states[:, :2], axis=0).round())
    assert np.isfinite(poses).all()

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for cloud in clouds[::5]:
        pyplot.plot(cloud[:, 0], cloud[:, 1], ",", color="tab:blue")
    pyplot.plot(*walk.states[:, :2].T, "k-", label="truth")
    pyplot.plot(*poses[:, :2].T, "-", color="tab:orange", label="tracked")
    pyplot.gca().set_aspect("equal")
    pyplot.legend()
    pyplot.savefig(folder / "maze.png", dpi=100)


if __name__ == "__main__":
    main()
