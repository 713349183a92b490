"""A filter of one's own model, compiled or of Python functions, against Kalman's filter and against `particles`."""

import numpy as np
import pytest
from kalman import kalman

import driftless_filters as df

A = np.array([[1.0, 0.5], [-0.2, 0.8]])
Q = np.array([[0.3, 0.1], [0.1, 0.2]])
C = np.array([[1.0, 0.0], [0.3, 1.0]])
R = np.array([[0.5, 0.2], [0.2, 0.4]])
N = 4000


def simulated(steps, seed):
    rng = np.random.default_rng(seed)
    state, observations = rng.normal(size=2), []
    for t in range(steps):
        if t > 0:
            state = A @ state + rng.multivariate_normal([0, 0], Q)
        observations.append(C @ state + rng.multivariate_normal([0, 0], R))
    return np.array(observations)


def own_motion(particles, action, noise):
    return particles @ A.T + noise @ np.linalg.cholesky(Q).T


def own_likelihood(particles, observation):
    apart = observation - particles @ C.T
    inverse = np.linalg.inv(R)
    return -0.5 * np.einsum("ni,ij,nj->n", apart, inverse, apart) - 0.5 * np.linalg.slogdet(2 * np.pi * R)[1]


def filters(seed, count=N, **others):
    initial = np.random.default_rng(1000 + seed).normal(size=(count, 2))
    yield df.ParticleFilter(df.LinearMotion(A, Q), df.LinearSensor(C, R), initial=initial, seed=seed, **others)
    yield df.ParticleFilter(own_motion, own_likelihood, initial=initial, seed=seed, **others)
    yield df.ParticleFilter(df.LinearMotion(A, Q), own_likelihood, initial=initial, seed=seed, **others)
    yield df.ParticleFilter(own_motion, df.LinearSensor(C, R), initial=initial, seed=seed, **others)


SCHEMES = ["systematic", "stratified", "multinomial", "residual", df.SoftResampling(0.7)]


@pytest.mark.parametrize("resampler", SCHEMES)
def test_against_kalman(resampler):
    """Means of ten seeds are within five of their own standard errors of the exact ones, and so is the evidence."""
    observations = simulated(30, 3)
    observations[7, 0] = observations[11] = np.nan
    means, covariances, evidence = kalman(A, Q, C, R, np.zeros(2), np.eye(2), observations)
    runs = []
    for seed in range(10):
        compiled = next(filters(seed, resampler=resampler))
        runs.append(compiled.run(observations, covariance=True))
    errors = np.array([run.mean - means for run in runs])
    standard = errors.std(axis=0, ddof=1) / np.sqrt(10)
    # 60 numbers of 10 runs: Student's t with 9 degrees of freedom is beyond 7 with a probability of 6e-5 each.
    assert (np.abs(errors.mean(axis=0)) < 7 * standard).all()
    assert np.abs(errors).max() < 0.3
    variances = np.mean([run.covariance for run in runs], axis=0)
    # Within 10 % of the largest variance: the standard error of a variance of some 2,000 effective particles, ten times,
    # is 1 %.
    assert np.abs(variances - covariances).max() < 0.1 * covariances.max()
    sums = np.array([run.log_evidence.sum() for run in runs])
    assert abs(sums.mean() - evidence.sum()) < 7 * sums.std(ddof=1) / np.sqrt(10) + sums.var() / 2 + 0.05
    assert runs[0].log_evidence[11] == 0 and not runs[0].seen[11] and runs[0].seen[7]


def test_functions_and_compiled_pieces_agree():
    """The same seed draws the same numbers, so that the four mixtures differ by rounding alone."""
    observations = simulated(20, 4)
    expected, *others = [f.run(observations) for f in filters(5)]
    for found in others:
        # Rounding in 32 bits may choose another ancestor now and then; far below the Monte Carlo error of 1e-2.
        assert np.abs(found.mean - expected.mean).max() < 5e-3
        assert np.abs(found.log_evidence - expected.log_evidence).max() < 5e-3


def test_steps_are_a_run_and_seeds_repeat():
    observations = simulated(10, 6)
    for one, all_at_once in zip(filters(1, 500), filters(1, 500)):
        steps = [one.step(y) for y in observations]
        whole = all_at_once.run(observations, history=True)
        assert [s.log_evidence for s in steps] == whole.log_evidence.tolist()
        np.testing.assert_array_equal(one.mean, whole.mean[-1])
        np.testing.assert_array_equal(one.particles, whole.particles[-1])
        np.testing.assert_array_equal(one.weights, whole.weights[-1])
        assert whole.particles.shape == (10, 500, 2) and one.particles.dtype == np.float32
        assert one.log_evidence == pytest.approx(whole.log_evidence.sum(), abs=1e-9)


def test_flat_states_actions_and_noise():
    """A random walk with known moves: one axis in, one axis out."""
    seen = {}

    def motion(particles, action, noise):
        seen["shapes"] = particles.shape, noise.shape, particles.dtype
        return particles + action + 0.1 * noise

    f = df.ParticleFilter(motion, lambda x, y: -0.5 * ((x - y) / 0.2) ** 2, initial=np.zeros(1000), seed=1)
    f.step(None)
    f.step(None, 2.0)
    assert seen["shapes"] == ((1000,), (1000,), np.float32)
    assert f.mean == pytest.approx(2.0, abs=0.02) and f.covariance == pytest.approx(0.01, rel=0.25)
    # N(2, 0.01) and a reading of 2.5 ± 0.2: the mean moves by a fifth of what they are apart.
    f.step(2.5, 0.0)
    variance = 0.02
    assert f.mean == pytest.approx(2 + 0.5 * variance / (variance + 0.04), abs=0.03)


def test_linear_control_and_odometry():
    f = df.ParticleFilter(
        df.LinearMotion(np.eye(2), 1e-12 * np.eye(2), control=[[1.0], [2.0]], offset=[0.5, 0]),
        df.LinearSensor(np.eye(2), np.eye(2)),
        initial=np.zeros((10, 2)),
    )
    f.step()
    assert f.step(action=[3.0]).moved and not f.step().moved
    np.testing.assert_allclose(f.mean, [4.0, 6.0], atol=1e-4)
    robot = df.ParticleFilter(
        df.Odometry(missing=(0.5, 0.1)), lambda p, o: np.zeros(len(p)), initial=np.tile([1.0, 2.0, np.pi / 2], (5000, 1)),
        angles=[2],
    )
    robot.step()
    robot.step(action=[1.0, 0.5, np.pi])
    np.testing.assert_allclose(robot.mean, [0.5, 3.0, -np.pi / 2], atol=1e-5)
    assert not robot.step().moved
    assert robot.covariance[0, 0] == pytest.approx(0.25, rel=0.1)


def test_stochastic_volatility_against_a_grid():
    """Against Bayes' rule on a fine grid, which is exact up to its width."""
    alpha, sigma, beta = 0.91, 1.0, 0.5
    rng = np.random.default_rng(2)
    x, ys = 0.0, []
    for _ in range(25):
        ys.append(beta * np.exp(x / 2) * rng.normal())
        x = alpha * x + sigma * rng.normal()
    grid = np.linspace(-14, 14, 1401)
    width = grid[1] - grid[0]
    start = sigma**2 / (1 - alpha**2)
    density = np.exp(-0.5 * grid**2 / start) / np.sqrt(2 * np.pi * start)
    kernel = np.exp(-0.5 * ((grid[:, None] - alpha * grid) / sigma) ** 2) / np.sqrt(2 * np.pi) / sigma
    means, evidence = [], []
    for t, y in enumerate(ys):
        if t > 0:
            density = kernel @ density * width
        scale = beta * np.exp(grid / 2)
        joint = density * np.exp(-0.5 * (y / scale) ** 2) / np.sqrt(2 * np.pi) / scale
        evidence.append(np.log(joint.sum() * width))
        density = joint / (joint.sum() * width)
        means.append((grid * density).sum() * width)
    runs = []
    for seed in range(10):
        initial = np.random.default_rng(seed).normal(size=5000) * np.sqrt(start)
        f = df.ParticleFilter(
            df.LinearMotion(alpha, sigma**2), df.StochasticVolatility(beta), initial=initial, seed=seed
        )
        runs.append(f.run(ys))
    errors = np.array([run.mean - means for run in runs])
    assert (np.abs(errors.mean(axis=0)) < 7 * errors.std(axis=0, ddof=1) / np.sqrt(10)).all()
    assert np.mean([r.log_evidence.sum() for r in runs]) == pytest.approx(sum(evidence), abs=0.1)


def test_own_resampler():
    """Multinomial resampling as a function is as exact as ours; wrong ancestors are refused."""
    calls = []

    def resampler(weights, count, uniforms):
        calls.append(count)
        return np.searchsorted(np.cumsum(weights), uniforms * weights.sum()).clip(max=count - 1)

    observations = simulated(20, 8)
    means, _, _ = kalman(A, Q, C, R, np.zeros(2), np.eye(2), observations)
    f = next(filters(2, resampler=resampler))
    # 0.1 is five standard errors of a mean of some 1,500 effective particles whose variance is below 0.5.
    assert np.abs(f.run(observations).mean - means).max() < 0.15 and calls
    f = next(filters(2, resampler=lambda w, n, u: np.full(n, n), resample_below=2.0))
    with pytest.raises(ValueError, match="indices of 4000 particles"):
        f.run(observations)


def test_collapse_is_reported_and_nothing_is_nan():
    f = df.ParticleFilter(
        lambda p, a, z: p, lambda p, y: np.full(len(p), y, dtype=float), initial=np.arange(5.0)
    )
    for impossible in [-np.inf, np.nan]:
        step = f.step(impossible)
        assert step.collapsed and step.log_evidence == -1e30
        assert f.mean == pytest.approx(2.0)
    assert f.step(-1e6).log_evidence == pytest.approx(-1e6, rel=1e-9), "large constants are not rounded away"


def test_what_a_function_raises_changes_nothing():
    ys = simulated(6, 9)
    broken = []

    def motion(particles, action, noise):
        if broken:
            raise RuntimeError("no motion")
        return own_motion(particles, action, noise)

    def likelihood(particles, y):
        if np.isnan(y).any():
            raise KeyError("no likelihood")
        return own_likelihood(particles, y)

    initial = np.random.default_rng(0).normal(size=(300, 2))
    disturbed, calm = (df.ParticleFilter(motion, likelihood, initial=initial, seed=4) for _ in range(2))
    for y in ys:
        if disturbed.steps:
            broken.append(1)
            with pytest.raises(RuntimeError, match="no motion"):
                disturbed.step(y)
            broken.clear()
        with pytest.raises(KeyError, match="no likelihood"):
            disturbed.step([np.nan, 0])
        assert disturbed.step(y).log_evidence == calm.step(y).log_evidence
    np.testing.assert_array_equal(disturbed.particles, calm.particles)


def test_wrong_arguments_say_what_to_do():
    def flat(**arguments):
        return df.ParticleFilter(lambda p, a, z: p, lambda p, y: p, **{"initial": np.zeros(3), **arguments})

    for message, make in [
        ("shape", lambda: flat(initial=np.zeros((2, 2, 2)))),
        ("not finite: particle 1", lambda: flat(initial=[0, np.nan])),
        ("no particles", lambda: flat(initial=[])),
        ("no coordinate 3", lambda: flat(angles=[3])),
        ("systematic", lambda: flat(resampler="systematc")),
        ("states of 2 numbers", lambda: df.ParticleFilter(df.LinearMotion(A, Q), df.LinearSensor(1, 1), initial=[0.0])),
        ("negative", lambda: df.LinearMotion(A, -Q)),
        ("needs a covariance", lambda: df.LinearSensor(C, np.zeros((2, 2)))),
        ("alpha", lambda: df.SoftResampling(0.0)),
        ("motion must be", lambda: df.ParticleFilter(3, len, initial=[0.0])),
    ]:
        with pytest.raises(ValueError, match=message):
            make()
    moved = df.ParticleFilter(lambda p, a, z: p[1:], lambda p, y: p, initial=np.zeros(3))
    moved.step(None)
    with pytest.raises(ValueError, match=r"motion must give an array of shape \[3\], not \[2\]"):
        moved.step(None)
    with pytest.raises(ValueError, match=r"\+inf for particle 0"):
        flat(initial=[1.0, 2.0]).step(0) and df.ParticleFilter(
            lambda p, a, z: p, lambda p, y: np.full(2, np.inf), initial=[1.0, 2.0]
        ).step(0)
    with pytest.raises(ValueError, match="observation has 1 numbers, 2 are wanted"):
        next(filters(0, 10)).step([1.0])
