"""Python code of README.md and docs/python.md, block by block, on drives that were made up."""

import pathlib
import re

import numpy as np
import pytest

import driftless_filters as df
from test_runs import robots

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
BLOCKS = [
    (page, block)
    for page in ("README.md", "docs/python.md")
    for block in re.findall(r"^```py\n(.*?)^```", (REPOSITORY / page).read_text(), re.MULTILINE | re.DOTALL)
]


def test_there_are_blocks():
    assert [page for page, _ in BLOCKS] == ["README.md", *["docs/python.md"] * 3]


@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_block(page, block, tmp_path, monkeypatch, capsys):
    """What a block takes as given is given: drives to learn from, what a robot has at a step, a filter and a network."""
    if "torch" in block:
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    drives = [(episode.actions, episode.readings, episode.states) for episode in robots()]
    odometry, scans, _ = drives[0]
    known = {"df": df, "np": np, "drives": drives, "scan": scans[0], "robot": zip(scans, odometry), **learning(block)}
    exec(compile(block, page, "exec"), known)
    if "tracker" in block:
        assert np.isfinite(known["tracked"].pose).all() and "[" in capsys.readouterr().out
    if "filter.step" in block:
        assert known["step"].log_evidence < 0.0
    if "torch" in block:
        assert known["means"].shape == (4,) and known["log_weights"].requires_grad


def learning(block):
    """For the block on PyTorch: a filter, what it observed, and a network of one weight."""
    if "torch" not in block:
        return {}
    import torch

    weight = torch.ones(1, requires_grad=True)
    seen = np.array([0.3, 0.1, 0.4, 0.2])
    filter = df.ParticleFilter(
        lambda particles, action, noise: particles + 0.1 * noise,
        lambda particles, observation: -0.5 * (observation - particles) ** 2,
        initial=np.random.default_rng(1).normal(size=50),
        seed=1,
    )

    def network(observations, particles):
        return -0.5 * weight * (torch.from_numpy(observations)[:, None] - particles) ** 2

    return {"torch": torch, "filter": filter, "observations": seen, "network": network}
