"""Gradients with respect to log-likelihoods: by differences in numpy always, by torch.autograd where torch is there."""

import numpy as np
import pytest

import driftless_filters as df


def series(alpha, count=30, steps=8):
    rng = np.random.default_rng(3)
    f = df.ParticleFilter(
        lambda p, a, z: 0.9 * p + 0.7 * z,
        lambda p, y: -0.5 * ((p - y) / 0.5) ** 2,
        df.SoftResampling(alpha) if alpha < 1 else "systematic",
        initial=rng.normal(size=count),
        resample_below=0.9,
    )
    ys = [None if t == 4 else y for t, y in enumerate(rng.normal(size=steps))]
    filtered = f.run(ys, history=True)
    logs = np.array([np.zeros(count) if y is None else -0.5 * ((p - y) / 0.5) ** 2 for p, y in zip(filtered.particles, ys)])
    return filtered, logs


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_forward_is_what_the_filter_did(alpha):
    filtered, logs = series(alpha)
    assert filtered.resampled.any() and not filtered.resampled.all()
    log_weights, evidence = df.Trace(filtered).forward(logs)
    # The filter has 32 bits.
    np.testing.assert_allclose(np.exp(log_weights), filtered.weights, atol=2e-5)
    np.testing.assert_allclose(evidence, filtered.log_evidence, atol=2e-5)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_gradients_are_differences(alpha):
    filtered, logs = series(alpha)
    trace, rng = df.Trace(filtered), np.random.default_rng(1)
    by_weights, by_evidence = rng.normal(size=logs.shape), rng.normal(size=len(logs))

    def loss(logs):
        log_weights, evidence = trace.forward(logs)
        return (by_weights * np.exp(log_weights)).sum() + (by_evidence * evidence).sum()

    log_weights, _ = trace.forward(logs)
    gradient = trace.backward(by_weights * np.exp(log_weights), by_evidence)
    for t, i in [(t, i) for t in range(len(logs)) for i in range(0, logs.shape[1], 7)]:
        step = np.zeros_like(logs)
        step[t, i] = 1e-5
        difference = (loss(logs + step) - loss(logs - step)) / 2e-5
        # Weights of 32 bits, some ten terms of size 1.
        assert gradient[t, i] == pytest.approx(difference, abs=1e-5), (t, i)
    assert not gradient[4].any(), "nothing was seen there"


def test_wrong_use_is_refused():
    filtered, logs = series(1.0)
    trace = df.Trace(filtered)
    with pytest.raises(ValueError, match="after forward"):
        trace.backward()
    with pytest.raises(ValueError, match="shape"):
        trace.forward(logs[:, :3])
    with pytest.raises(ValueError, match="history=True"):
        df.Trace(df.ParticleFilter(lambda p, a, z: p, lambda p, y: p, initial=[0.0]).run([0.0]))


def test_in_torch():
    torch = pytest.importorskip("torch", reason="SKIPPED: pip install torch checks the bridge")
    from driftless_filters.torch import weigh

    filtered, logs = series(0.5, count=6, steps=5)
    trace = df.Trace(filtered)

    def loss(logs):
        log_weights, evidence = weigh(trace, logs)
        states = torch.from_numpy(filtered.particles.astype(float))
        return ((log_weights.exp() * states).sum(1) ** 2).sum() - evidence.sum()

    given = torch.tensor(logs, dtype=torch.float64, requires_grad=True)
    # Gradients pass 32 bits.
    assert torch.autograd.gradcheck(loss, (given,), eps=1e-4, atol=1e-5, rtol=1e-4)
