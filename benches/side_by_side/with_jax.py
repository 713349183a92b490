"""The standard training step and the online step in JAX, compiled: python3 with_jax.py FOLDER ROUNDS."""

import json
import math
import resource
import sys
import time

import jax
import jax.numpy as jnp
from inputs import BATCH, IMAGE, MASK, PARTICLES, STEPS, read, shapes
from jax import lax

BLOCK = 20
NOISE = jnp.array([20.0, 20.0, 0.5])
BANDWIDTH = 0.2
LOG_NOISE = -math.log(20 * 20 * 0.5) - 1.5 * math.log(2 * math.pi)
LOG_KERNEL = -3 * math.log(BANDWIDTH) - 1.5 * math.log(2 * math.pi)
LAYOUT = ("NHWC", "HWIO", "NHWC")


def weights_of(folder):
    """Images have their channels last here: kernels are transposed, and layers beside them permuted."""
    w = [jnp.asarray(read(folder, f"p{k}", shape)) for k, shape in enumerate(shapes())]
    for k in (0, 2, 4):
        w[k] = w[k].transpose(2, 3, 1, 0)
    for k in (6, 8, 10, 12, 14, 16):
        w[k] = w[k].T
    for k in (18, 20, 22):
        w[k] = w[k].transpose(2, 3, 0, 1)[::-1, ::-1]
    w[6] = w[6].reshape(64, 3, 3, 128).transpose(1, 2, 0, 3).reshape(MASK, 128)
    w[16] = w[16].reshape(128, 64, 3, 3).transpose(0, 2, 3, 1).reshape(128, MASK)
    w[17] = w[17].reshape(64, 3, 3).transpose(1, 2, 0).reshape(MASK)
    return w


def encode(w, images, masks):
    for k in (0, 2, 4):
        y = lax.conv_general_dilated(images, w[k], (2, 2), ((1, 1), (1, 1)), dimension_numbers=LAYOUT)
        images = jax.nn.relu(y + w[k + 1])
    flat = images.reshape(len(images), MASK)
    return jax.nn.relu((flat if masks is None else flat * masks) @ w[6] + w[7])


def decode(w, features):
    images = jax.nn.relu(features @ w[16] + w[17]).reshape(-1, 3, 3, 64)
    for k in (18, 20, 22):
        y = lax.conv_general_dilated(
            images, w[k], (1, 1), ((1, 2), (1, 2)), lhs_dilation=(2, 2), dimension_numbers=LAYOUT
        )
        images = jax.nn.relu(y + w[k + 1])
    return images


def units(features):
    return features / jnp.sqrt((features**2).sum(-1, keepdims=True) + 1e-12)


def likelihoods(w, poses, seen):
    x, y, heading = poses[..., 0], poses[..., 1], poses[..., 2]
    rows = jnp.stack([(x - 500) / 300, (y - 250) / 300, jnp.cos(heading), jnp.sin(heading)], -1).reshape(-1, 4)
    for k in (8, 10, 12, 14):
        rows = jax.nn.relu(rows @ w[k] + w[k + 1])
    rows = rows.reshape(*poses.shape[:-1], 128)
    cosines = (rows * seen[:, None]).sum(-1) / jnp.sqrt((rows**2).sum(-1) + 1e-12)
    return 1 / (1e-8 + 1 - cosines)


def ancestors(belief, offsets):
    count = belief.shape[1]
    cumulated = jnp.cumsum(belief, 1)
    markers = (jnp.arange(count, dtype=jnp.float32)[None] + offsets[:, None]) / count
    found = jax.vmap(jnp.searchsorted)(cumulated / cumulated[:, -1:], markers)
    return jnp.clip(found, 0, count - 1)


def move(poses, action, noise):
    cosine, sine, action = jnp.cos(poses[..., 2]), jnp.sin(poses[..., 2]), action[:, None]
    ahead, aside = action[..., 0], action[..., 1]
    turn = jnp.broadcast_to(action[..., 2], cosine.shape)
    return poses + jnp.stack([ahead * cosine - aside * sine, ahead * sine + aside * cosine, turn], -1) + noise * NOISE


def loss(w, data, noise, offsets, masks):
    images, actions, states, known, first = data
    features = encode(w, images, masks)
    reconstruction = jnp.mean((decode(w, features) - images) ** 2)
    seen = units(features.reshape(BATCH, STEPS, -1))
    times = jnp.arange(STEPS)
    begins = (times % BLOCK == 0).astype(jnp.float32)
    ends = ((times + 1) % BLOCK == 0) | (times == STEPS - 1)

    def step(carried, now):
        poses, belief, lines = carried
        action, state, label, e, z, u, begin, end = now
        chosen = ancestors(lax.stop_gradient(belief), u)
        poses = jnp.take_along_axis(lax.stop_gradient(poses), chosen[..., None], 1)
        poses = move(poses, action, z)
        l = likelihoods(w, poses, e)
        belief = l / l.sum(1, keepdims=True)
        gained = jnp.log(l) + LOG_NOISE - 0.5 * (z**2).sum(-1)
        lines = (1 - begin) * jnp.take_along_axis(lines, chosen, 1) + gained
        apart = poses - state[:, None]
        turn = jnp.remainder(apart[..., 2:] + math.pi, 2 * math.pi) - math.pi
        apart = jnp.concatenate([apart[..., :2], turn], -1) / NOISE
        kernels = LOG_KERNEL - 0.5 * ((apart / BANDWIDTH) ** 2).sum(-1)
        density = -(jax.scipy.special.logsumexp(jnp.log(belief) + kernels, 1) * label).sum()
        return (poses, belief, lines), (density, end * (belief * lines).sum(1).mean())

    swap = lambda x: jnp.swapaxes(x, 0, 1)
    start = first, jnp.full((BATCH, PARTICLES), 1 / PARTICLES), jnp.zeros((BATCH, PARTICLES))
    rows = swap(actions), swap(states), swap(known), swap(seen), noise, offsets, begins, ends.astype(jnp.float32)
    _, (density, paths) = lax.scan(step, start, rows)
    blocks = -(-STEPS // BLOCK)
    return 10 * density.sum() / known.sum() - 0.01 * paths.sum() / blocks + 200 * reconstruction


def data_of(folder):
    array = lambda name, shape: jnp.asarray(read(folder, name, shape))
    images = array("obs", (BATCH * STEPS, *IMAGE)).transpose(0, 2, 3, 1)
    rows = (BATCH, STEPS, 3)
    return images, array("act", rows), array("state", rows), array("lab", rows[:2]), array("init", (BATCH, PARTICLES, 3))


def train(folder, rounds):
    w, data = weights_of(folder), data_of(folder)
    masks = read(folder, "drop", (BATCH * STEPS, 64, 3, 3)).transpose(0, 2, 3, 1).reshape(-1, MASK)
    fixed = read(folder, "noise", (STEPS, BATCH, PARTICLES, 3)), read(folder, "u", (STEPS, BATCH)), masks
    with_gradient = jax.value_and_grad(loss)
    value, gradient = jax.jit(with_gradient)(w, data, *map(jnp.asarray, fixed))
    norm = math.sqrt(sum(float((g**2).sum()) for g in gradient))

    @jax.jit
    def update(w, m, v, t, key):
        a, b, c = jax.random.split(key, 3)
        masks = (jax.random.uniform(c, (BATCH * STEPS, MASK)) < 0.3) / 0.3
        draws = jax.random.normal(a, (STEPS, BATCH, PARTICLES, 3)), jax.random.uniform(b, (STEPS, BATCH)), masks
        _, g = with_gradient(w, data, *draws)
        m = [0.9 * m + 0.1 * g for m, g in zip(m, g)]
        v = [0.999 * v + 0.001 * g * g for v, g in zip(v, g)]
        moved = lambda w, m, v: w - 3e-4 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
        return [moved(*all) for all in zip(w, m, v)], m, v

    m = v = [jnp.zeros_like(x) for x in w]
    times, key = [], jax.random.PRNGKey(0)
    for number in range(rounds + 2):
        key, own = jax.random.split(key)
        jax.block_until_ready(own)
        start = time.perf_counter()
        w, m, v = update(w, m, v, jnp.float32(number + 1), own)
        jax.block_until_ready(w)
        times.append(time.perf_counter() - start)
    return {"loss": float(value), "gradient_norm": norm, "training_s": times[2:]}


def online(folder, count, steps):
    w, (images, actions, _, _, first) = weights_of(folder), data_of(folder)
    action, images = actions[:1, 0], [images[k : k + 1] for k in range(64)]

    @jax.jit
    def step(poses, belief, image, key):
        key, a, b = jax.random.split(key, 3)
        chosen = ancestors(belief, jax.random.uniform(a, (1,)))
        poses = jnp.take_along_axis(poses, chosen[..., None], 1)
        poses = move(poses, action, jax.random.normal(b, poses.shape))
        l = likelihoods(w, poses, units(encode(w, image, None)))
        belief = l / l.sum(1, keepdims=True)
        return poses, belief, (belief[..., None] * poses).sum(1), key

    key = jax.random.PRNGKey(1)
    poses, belief = first[:1, :1] + jax.random.normal(key, (1, count, 3)) * NOISE, jnp.full((1, count), 1 / count)
    times = []
    for _ in range(6):
        start = time.perf_counter()
        for number in range(steps):
            poses, belief, mean, key = step(poses, belief, images[number % 64], key)
            mean.block_until_ready()
        times.append((time.perf_counter() - start) / steps * 1e6)
    return times[2:]


if __name__ == "__main__":
    folder, rounds = sys.argv[1], int(sys.argv[2])
    found = train(folder, rounds)
    found["memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["online_us"] = {"100": online(folder, 100, 200), "10000": online(folder, 10000, 60)}
    found["version"] = jax.__version__
    print(json.dumps(found))
