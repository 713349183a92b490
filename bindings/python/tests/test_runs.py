"""Training, tracking and evaluation of runs: the same as the command's, from arrays."""

import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import driftless_filters as df

SETTINGS = {"trajectories": 8, "epochs": 2, "validation_episodes": 2}


def robots(count=12, steps=40):
    """Robots that measure how far three beacons are; half of their poses are known."""
    rng = np.random.default_rng(5)
    beacons = np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 5.0]])
    episodes = []
    for _ in range(count):
        pose, states, actions = np.array([*rng.uniform(1, 4, 2), rng.uniform(-3, 3)]), [], []
        for t in range(steps):
            action = np.array([0.2, 0.0, rng.normal(0, 0.3)]) if t else np.zeros(3)
            c, s = np.cos(pose[2]), np.sin(pose[2])
            pose = pose + [action[0] * c, action[0] * s, action[2]]
            states.append(pose.copy())
            actions.append(action + rng.normal(0, 0.01, 3) * (t > 0))
        states = np.array(states)
        states[:, 2] = (states[:, 2] + np.pi) % (2 * np.pi) - np.pi
        distances = np.linalg.norm(states[:, None, :2] - beacons, axis=2) + rng.normal(0, 0.05, (steps, 3))
        episodes.append(df.Episode(actions=actions, readings=distances, states=states))
    return episodes


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "beacons"
    seen = []
    found = df.train("robot-driftless", robots(), folder, settings=SETTINGS | {"sensor": RANGES}, progress=seen.append)
    assert found["outcome"] == "finished" and [epoch["epoch"] for epoch in seen] == [1, 2]
    assert [epoch["loss"] for epoch in found["records"]] == [epoch["loss"] for epoch in seen]
    return folder


RANGES = "[{name='beacons', kind='ranges', columns=[0,3]}]"


def test_track_from_arrays(trained):
    """A step gives what an evaluation of the same steps gives, by the sensor's name or by columns."""
    run = df.open_run(trained)
    episode = robots()[-1]
    about = dict(pose=episode.states[0].astype(float), spread=[0.1, 0.1, 0.1], seed=3)
    one, other = run.tracker(**about), run.tracker(**about)
    errors = []
    for t in range(len(episode)):
        odometry = episode.actions[t].astype(float)
        tracked = one.step(readings=episode.readings[t], odometry=odometry)
        again = other.step(beacons=episode.readings[t], odometry=odometry)
        np.testing.assert_array_equal(tracked.pose, again.pose)
        errors.append(np.hypot(*(tracked.pose[:2] - episode.states[t, :2])))
    # Three ranges within 0.05 and odometry: far better than odometry alone.
    assert np.mean(errors[10:]) < 0.25, errors
    assert tracked.covariance.shape == (3, 3) and np.linalg.eigvalsh(tracked.covariance).min() >= -1e-12
    assert one.particles.shape[1] == 3 and len(one.weights) == len(one.particles)
    assert one.weights.sum() == pytest.approx(1, abs=1e-4)
    with pytest.raises(ValueError, match="no sensor \"scan\"; it has beacons"):
        one.step(scan=[1.0])
    with pytest.raises(ValueError, match="has 2 numbers, 3 are wanted"):
        one.step(beacons=[1.0, 2.0])
    silent = one.step()
    assert not silent.seen and not silent.moved and np.isfinite(silent.pose).all()


def test_evaluation_is_the_commands(trained):
    data = f"{trained}.npz"
    found = df.evaluate(trained, data, seed=4)
    command = [sys.executable, "-m", "driftless_filters", "evaluate", str(trained), "--data", data, "--seed", "4", "--json"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert found == told
    assert df.evaluate(trained, robots(3), seed=4)["trajectories"] == 3
    pandas = pytest.importorskip("pandas", reason="SKIPPED: pip install pandas makes data frames")
    table = df.evaluate(trained, data, seed=4, frame=True)
    assert isinstance(table, pandas.DataFrame) and len(table) == len(found["steps"])


def test_weights(trained, tmp_path):
    weights = df.open_run(trained).weights()
    best = df.read_weights(trained / "best.safetensors")
    assert weights.keys() == best.keys()
    df.write_weights(tmp_path / "copy.safetensors", best)
    for name, values in df.read_weights(tmp_path / "copy.safetensors").items():
        np.testing.assert_array_equal(values, best[name])


def test_interrupted_and_resumed_is_the_same(trained, tmp_path):
    """Ctrl-C in the first epoch: it is finished, KeyboardInterrupt comes, and what follows is the same, bit for bit."""
    settings = SETTINGS | {"sensor": RANGES}
    folder = tmp_path / "cut"
    # What a shell starts in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        df.train("robot-driftless", robots(), folder, settings=settings, progress=lambda _: os.kill(os.getpid(), signal.SIGINT))
    assert len((folder / "log.jsonl").read_text().splitlines()) == 1
    assert df.resume(folder)["epochs"] == 2
    assert (folder / "best.safetensors").read_bytes() == (trained / "best.safetensors").read_bytes()
    stopped = df.train("robot-driftless", robots(), tmp_path / "enough", settings=settings, progress=lambda _: False)
    assert stopped["outcome"] == "stopped" and stopped["epochs"] == 1
    with pytest.raises(ZeroDivisionError):
        df.train("robot-driftless", robots(), tmp_path / "raises", settings=settings, progress=lambda _: 1 / 0)


def test_other_threads_run_while_it_trains(tmp_path):
    """The interpreter is free: a thread counts meanwhile."""
    counted, done = [0], threading.Event()

    def count():
        while not done.wait(0.001):
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    df.train("robot-driftless", robots(), tmp_path / "run", settings=SETTINGS | {"sensor": RANGES})
    done.set()
    thread.join()
    assert counted[0] > 20


def test_mazes_in_files_and_arrays(tmp_path):
    walks = df.simulate("maze1", episodes=3, steps=12, size=(16, 24), seed=2, out=tmp_path / "walks.npz")
    assert walks[0].images.shape == (12, 16, 24, 4) and walks[0].images.dtype == np.uint8
    command = [sys.executable, "-m", "driftless_filters", "simulate", "maze1", "--episodes", "3", "--steps", "12"]
    command += ["--size", "24x16", "--seed", "2", "--out", str(tmp_path / "again.npz")]
    subprocess.run(command, check=True, capture_output=True)
    for ours, theirs in zip(df.load(tmp_path / "walks.npz"), df.load(tmp_path / "again.npz"), strict=True):
        np.testing.assert_array_equal(ours.images, theirs.images)
        np.testing.assert_array_equal(ours.states, theirs.states)
    with pytest.raises(FileNotFoundError):
        df.load(tmp_path / "none.npz")
    with pytest.raises(ValueError, match="no such world"):
        df.simulate("maze9", episodes=1)


def test_episodes_come_back_as_they_were(tmp_path):
    rng = np.random.default_rng(1)
    states = rng.normal(size=(5, 3)).astype(np.float32)
    states[3] = np.nan
    images = rng.integers(0, 255, (5, 8, 8, 3), dtype=np.uint8)
    episode = df.Episode(
        actions=rng.normal(size=(5, 3)), readings=rng.normal(size=(5, 4)), images=images, states=states, times=np.arange(5.0)
    )
    df.save(tmp_path / "log.npz", [episode, episode])
    found = df.load(tmp_path / "log.npz")
    assert len(found) == 2
    for name in ["actions", "readings", "images", "states", "times"]:
        np.testing.assert_array_equal(getattr(found[1], name), getattr(episode, name), err_msg=name)
    with pytest.raises(ValueError, match="needs readings or images"):
        df.Episode(actions=np.zeros((2, 3)))


def test_the_command():
    run = [sys.executable, "-m", "driftless_filters"]
    assert subprocess.run([*run, "--version"], capture_output=True, text=True).stdout.startswith("driftless ")
    assert subprocess.run([*run, "inspect", "none.npz"], capture_output=True).returncode == 1
    assert subprocess.run([*run, "simulate", "maze1", "--episodes", "0", "--out", "x"], capture_output=True).returncode == 2


def test_smoothing(trained, tmp_path):
    """Paths of episodes and of a file are the same, and nearer to the truth than the filter's; the mean is that of the paths."""
    run, episodes = df.open_run(trained), robots()
    found = run.smooth(episodes, paths=60, seed=2, start="global")
    assert len(found) == len(episodes)
    errors = []
    for path, episode in zip(found, episodes, strict=True):
        assert (path.first, len(path)) == (0, len(episode)) and path.paths.shape == (60, len(episode), 3)
        assert path.covariance.shape == (len(episode), 3, 3)
        np.testing.assert_allclose(path.mean[:, :2], path.paths[..., :2].mean(axis=0), atol=1e-4)
        spread = path.paths[..., :2].astype(float)
        np.testing.assert_allclose(path.covariance[:, 0, 0], spread[..., 0].var(axis=0), rtol=1e-2, atol=1e-6)
        errors.append([np.hypot(*(x[:, :2] - episode.states[:, :2]).T).mean() for x in (path.filtered, path.mean)])
    filtered, smoothed = np.mean(errors, axis=0)
    assert smoothed < filtered, (filtered, smoothed)
    df.save(tmp_path / "log.npz", episodes)
    again = run.smooth(tmp_path / "log.npz", paths=60, seed=2, start="global", episodes=2)
    assert len(again) == 2
    np.testing.assert_array_equal(again[1].paths, found[1].paths)
    weighed = run.smooth(episodes[:1], paths=0, seed=2, start=[*episodes[0].states[0].astype(float), 0.1, 0.1])[0]
    assert weighed.paths is None and np.isfinite(weighed.covariance).all()
    with pytest.raises(ValueError, match="there are no episodes"):
        run.smooth([])
    with pytest.raises(ValueError, match="must be log, global"):
        run.smooth(episodes, start="there")
