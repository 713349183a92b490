"""A second opinion on training: ten updates of a small filter, computed once more in numpy.

Run from the repository's root, with numpy installed:

    python3 checks/second_opinion.py

It builds and drives `crates/driftless/examples/second_opinion.rs`, takes first parameters, random
numbers and data from it, and nothing else. The filter, the losses and the optimisers are written
here from the published formulas; the released code's histories are gathered again and again, as it
does. Gradients are by the complex step, d f / d x = Im f(x + i h) / h: no graph, no reverse mode, and
no difference of nearby numbers, so they are exact to rounding. Exits with 1 if anything disagrees.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
UPDATES, BLOCK, EPSILON = 10, 3, 1e-3
SCALE = np.array([0.9, 0.9, 0.7])
LOW, HIGH = np.array([-2.0, -1.5, -np.pi]), np.array([2.0, 1.5, np.pi])
LOG_MU = -np.log(np.prod(HIGH - LOW))
H = 1e-40
# Relative to the largest number of an array. Both sides round each operation to 1.1e-16; sums of some
# hundred terms, and quotients that are never closer to 0 than 0.001, leave 1e-14, which is what is
# found. A hundredfold is allowed for other mathematical libraries. One operation in 32 bits would show
# as 1e-8, a forgotten term as 1e-3.
TOLERANCE = 1e-12


# Functions of complex numbers x + i h x', whose imaginary part carries the derivative.
def stop(x):
    """A constant: its derivative is dropped."""
    return np.real(x) + 0j


def at_least(x, low):
    return np.where(np.real(x) > low, x, low)


def arctan2(y, x):
    angle, squared = np.arctan2(np.real(y), np.real(x)), np.real(x) ** 2 + np.real(y) ** 2
    return angle + 1j * (np.real(x) * np.imag(y) - np.real(y) * np.imag(x)) / squared


def wrapped(angle):
    return angle - 2 * np.pi * np.floor((np.real(angle) + np.pi) / (2 * np.pi))


def difference(a, b):
    d = a - b
    return np.concatenate([d[..., :2], wrapped(d[..., 2:])], axis=-1)


# The model.
def displacement(p, s, a):
    x = np.concatenate([s, np.broadcast_to(a[:, None], s.shape)], axis=-1)
    return np.tanh(x @ p["transition.hidden"]) @ p["transition.out"]


def moved(p, s, a, noise):
    new = s + displacement(p, s, a) + np.exp(p["transition.log_std"]) * noise
    return np.concatenate([new[..., :2], wrapped(new[..., 2:])], axis=-1)


def log_normal(x, std):
    return np.sum(-(x**2) / (2 * std**2) - np.log(std) - np.log(2 * np.pi) / 2, axis=-1)


def log_g(p, new, old, a):
    return log_normal(difference(new, old + displacement(p, old, a)), np.exp(p["transition.log_std"]))


def likelihood(p, o, s):
    """1 / (epsilon + c), with c the cosine distance: o [B, 4], s [B, N, 3]."""
    e = np.tanh(o @ p["measurement.observation.weight"] + p["measurement.observation.bias"])[:, None]
    place = np.stack([s[..., 0], s[..., 1], np.cos(s[..., 2]), np.sin(s[..., 2])], axis=-1)
    e_hat = np.tanh(place @ p["measurement.state.weight"])
    lengths = np.sqrt(at_least((e * e).sum(-1), 1e-12)) * np.sqrt(at_least((e_hat * e_hat).sum(-1), 1e-12))
    return 1 / (EPSILON + at_least(1 - (e * e_hat).sum(-1) / lengths, 0))


def take(x, ancestors):
    return np.stack([row[chosen] for row, chosen in zip(x, ancestors)])


def first_above(markers, weights):
    """For each marker the first particle whose cumulative weight exceeds it."""
    upto = np.cumsum(np.real(weights))
    return np.array([next(j for j, c in enumerate(upto) if marker * upto[-1] < c) for marker in markers])


# The released code: systematic at every step, nothing differentiated across it, histories regathered.
def released(p, data):
    particles = data["start"].shape[1]
    states = LOW + (HIGH - LOW) * data["start"] + 0j
    weights = np.full(states.shape[:2], 1 / particles, complex)
    beliefs = [(states, weights)]
    w_history, l_history, noise_history = [weights], [weights], [None]
    for t in range(1, data["actions"].shape[1]):
        markers = (data["uniforms"][t] + np.arange(particles)) / particles
        ancestors = [first_above(m, w) for m, w in zip(markers, weights)]
        w_history = [take(w, ancestors) for w in w_history]
        l_history = list(w_history)  # the slip: likelihoods are regathered from weights
        noise_history = [None] + [take(n, ancestors) for n in noise_history[1:]]
        states = moved(p, stop(take(states, ancestors)), data["actions"][:, t], data["noise"][t])
        l = likelihood(p, data["observations"][:, t], states)
        weights = l / l.sum(1, keepdims=True)
        beliefs.append((states, weights))
        w_history.append(weights)
        l_history.append(l)
        noise_history.append(np.exp(p["transition.log_std"]) * data["noise"][t])
    blocks = []
    for end in range(BLOCK, len(beliefs) + 1, BLOCK):
        log_eta = 0
        for t in range(end - BLOCK, end):
            law = LOG_MU if t == 0 else log_normal(noise_history[t], np.exp(p["transition.log_std"]))
            log_eta = log_eta + law + np.log(l_history[t])
        blocks.append((w_history[end - 1] * log_eta).sum(1))
    q = np.mean(blocks)
    d2 = lambda s, truth: (((difference(truth[:, None], s)) / SCALE) ** 2).sum(-1)
    kernel = lambda s, truth: np.exp(-d2(s, truth) / (2 * 0.6**2)) / np.sqrt(2 * np.pi * 0.6**2)
    nll = [
        -np.log(1e-16 + (w * kernel(s, data["states"][:, t])).sum(1)) * data["known"][:, t]
        for t, (s, w) in enumerate(beliefs)
    ]
    mle = np.mean(nll) / 0.3
    return {"loss kernel density": mle, "loss pseudo-likelihood": -q, "loss": 10 * mle - 0.1 * q}


# The paper: multinomial when N_eff < 0.7 N, differentiated throughout; Q along lines, as an EM step.
def paper(p, data):
    particles = data["start"].shape[1]
    steps = data["actions"].shape[1]
    states = LOW + (HIGH - LOW) * data["start"] + 0j
    weights = np.full(states.shape[:2], 1 / particles, complex)
    beliefs, lines = [(states, weights)], [None]
    for t in range(1, steps):
        ancestors = []
        for b, row in enumerate(weights):
            needed = 1 / (np.real(row) ** 2).sum() < 0.7 * particles
            ancestors.append(first_above(data["uniforms"][t][b], row) if needed else np.arange(particles))
            if needed:
                weights = weights.copy()
                weights[b] = 1 / particles
        states = moved(p, take(states, ancestors), data["actions"][:, t], data["noise"][t])
        weights = weights * likelihood(p, data["observations"][:, t], states)
        weights = weights / weights.sum(1, keepdims=True)
        beliefs.append((states, weights))
        lines.append(ancestors)
    q = 0
    for end in range(BLOCK, steps + 1, BLOCK):
        q = q + block_value(p, data, beliefs, lines, end)
    q = q / (steps // BLOCK)
    errors = []
    for t, (s, w) in enumerate(beliefs):
        sine, cosine = (w * np.sin(s[..., 2])).sum(1), (w * np.cos(s[..., 2])).sum(1)
        mean = np.concatenate([(w[..., None] * s)[..., :2].sum(1), arctan2(sine, cosine)[:, None]], axis=1)
        errors.append(((difference(data["states"][:, t], mean) / SCALE) ** 2).sum(1) * data["known"][:, t])
    error = np.sum(errors) / data["known"].sum()
    return {"loss squared error": error, "loss pseudo-likelihood": -q, "loss": error - 0.5 * q}


def block_value(p, data, beliefs, lines, end):
    """sum_i w_i log eta_i of the block before `end`, mean over the batch, each line walked backwards."""
    batch, particles = beliefs[0][1].shape
    line = np.tile(np.arange(particles), (batch, 1))
    weights = stop(beliefs[end - 1][1])
    log_eta = np.full((batch, particles), LOG_MU, complex)
    for t in range(end - 1, end - BLOCK - 1, -1):
        here = stop(take(beliefs[t][0], line))
        log_eta = log_eta + np.log(likelihood(p, data["observations"][:, t], here))
        if t > end - BLOCK:
            line = take(np.array(lines[t]), line)
            before = stop(take(beliefs[t - 1][0], line))
            log_eta = log_eta + log_g(p, here, before, data["actions"][:, t])
    return (weights * log_eta).sum(1).mean()


# The optimisers, update t = 1, 2, ...
def adam(g, state, t):
    m, v = state.get("m", 0 * g), state.get("v", 0 * g)
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    state.update(m=m, v=v)
    return 0.02 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)


def rms_prop(g, state, t):
    ms, mom = state.get("ms", np.ones_like(g)), state.get("mom", 0 * g)
    ms = 0.9 * ms + 0.1 * g**2
    rate = 0.02 * (0.25 + 0.75 * (1 + np.cos(np.pi * min(t - 1, 8) / 8)) / 2)
    mom = 0.5 * mom + rate * g / np.sqrt(ms + 1e-10)
    state.update(ms=ms, mom=mom)
    return mom


def compare(name, found, expected):
    """Relative to the largest number of the array; returns how far."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"{name}: {found.shape} is not {expected.shape}"
    largest = np.abs(expected).max()
    assert largest > 1e-6, f"{name}: nothing to compare"
    away = np.abs(found - expected).max() / largest
    if not away <= TOLERANCE:
        sys.exit(f"FAIL {name}: away by {away:.1e} of {largest:.3g}")
    return away


def unflatten(theta, shapes):
    parts = np.split(theta, np.cumsum([int(np.prod(shape)) for shape in shapes.values()])[:-1])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts)}


def update_data(ours, update):
    """What one update is given."""
    data = {name: ours[name][0] for name in ("observations", "actions", "states", "known")}
    steps = data["actions"].shape[1]
    data["start"] = ours["start"][update]
    for name in ("noise", "uniforms"):
        data[name] = ours[name][update * steps : (update + 1) * steps]
    return data


def check(variant, losses, rule, ours):
    names = [name.removeprefix("value ") for name in ours if name.startswith("value ")]
    shapes = {name: ours[f"value {name}"].shape[1:] for name in names}
    theta = np.concatenate([ours[f"value {name}"][0].ravel() for name in names])
    state, worst = {}, 0
    for update in range(UPDATES):
        data = update_data(ours, update)
        at = lambda theta: losses(unflatten(theta, shapes), data)
        for name, value in at(theta + 0j).items():
            worst = max(worst, compare(f"{variant} {name} {update}", [np.real(value)], ours[name][update]))
        directions = 1j * H * np.eye(theta.size)
        gradient = np.array([np.imag(at(theta + step)["loss"]) / H for step in directions])
        for name, part in unflatten(gradient, shapes).items():
            worst = max(worst, compare(f"{variant} gradient {name} {update}", part, ours[f"gradient {name}"][update]))
        norm = [np.sqrt((gradient**2).sum())]
        worst = max(worst, compare(f"{variant} norm {update}", norm, ours["gradient norm"][update]))
        theta = theta - rule(gradient, state, update + 1)
        for name, part in unflatten(theta, shapes).items():
            worst = max(worst, compare(f"{variant} value {name} {update}", part, ours[f"value {name}"][update + 1]))
    print(f"ok: {variant}: {UPDATES} updates of {theta.size} parameters agree within {worst:.1e}")


def main():
    command = ["cargo", "build", "--release", "-q", "--locked", "-p", "driftless", "--example", "second_opinion"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    with tempfile.TemporaryDirectory() as folder:
        for variant, losses, rule in [("released", released, adam), ("paper", paper, rms_prop)]:
            out = pathlib.Path(folder, f"{variant}.npz")
            subprocess.run([target / "release/examples/second_opinion", variant, out], check=True)
            check(variant, losses, rule, dict(np.load(out)))


if __name__ == "__main__":
    main()
