"""Training from arrays or files, and evaluation to a dictionary or a data frame."""

import json
import os
import pathlib
import tempfile

from . import _driftless


def _is_file(data):
    return isinstance(data, (str, os.PathLike))


def train(
    experiment, data, run, *, valid=None, settings=(), steps_per_episode=None, beam_angles=None, progress=None
):
    """Trains an experiment in the new folder `run`.

    `data` is a file, a list of files, or a list of episodes. Episodes are written as a plain log beside the folder,
    `<run>.npz`: a run that is interrupted reads its data again. `settings` is a dictionary or a list of `key=value`.
    `progress` is called with a dictionary after each epoch; training stops where it returns False or raises. After Ctrl-C
    the epoch is finished and written, and KeyboardInterrupt raised; `resume(run)` goes on with the same result.
    """
    if isinstance(settings, dict):
        settings = [f"{key}={_toml(value)}" for key, value in settings.items()]
    if _is_file(data):
        data = [data]
    data = list(data)
    if data and not all(map(_is_file, data)):
        written = pathlib.Path(f"{os.fspath(run).rstrip('/')}.npz")
        written.parent.mkdir(parents=True, exist_ok=True)
        _driftless.save(written, data, beam_angles=beam_angles)
        data = [written]
    return _driftless.train_files(
        experiment,
        data,
        run,
        valid=valid,
        settings=list(settings),
        steps_per_episode=steps_per_episode,
        progress=progress,
    )


def _toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


def evaluate(
    run, data, *, particles=None, episodes=None, seed=0, settings=(), steps_per_episode=None, frame=False
):
    """How well a run follows robots it has not seen: what `driftless evaluate` writes, as a dictionary.

    `run` is a folder or an open run, `data` a file or a list of episodes. With `frame`, a pandas data frame of the figures
    of each step instead.
    """
    if _is_file(run):
        run = _driftless.open_run(run)
    wanted = dict(
        particles=particles, episodes=episodes, seed=seed, settings=list(settings), steps_per_episode=steps_per_episode
    )
    if _is_file(data):
        text = run.evaluation(data, **wanted)
    else:
        with tempfile.TemporaryDirectory() as folder:
            written = pathlib.Path(folder) / "episodes.npz"
            _driftless.save(written, list(data))
            text = run.evaluation(written, **wanted)
    found = json.loads(text)
    if not frame:
        return found
    import pandas

    return pandas.json_normalize(found["steps"])
