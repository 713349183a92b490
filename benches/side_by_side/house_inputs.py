"""Fixed inputs and first weights of PF-net's training step, the same for everybody: python3 house_inputs.py OUT.npz.

`map` [B, H, W, 1] holds 0 for walls and 2 for free space. `noise` [B, T, K, 3] holds standard normals for x, y and
theta in that order. Weights carry PF-net's names with dots and keep TensorFlow's layouts (HWIO kernels).
"""

import argparse
import os

import numpy as np

IMAGE = 56
PARTICLE_STD = np.array([15.0, 15.0, 0.523599])
MAP_CONVS = [("l1_conv3", 3, 24), ("l1_conv5", 5, 16), ("l1_conv7", 7, 8), ("l1_conv7_d2", 7, 8), ("l1_conv7_d3", 7, 8)]
SEEN_CONVS = [("l1_conv3", 3, 128), ("l1_conv5", 5, 128), ("l1_conv5_d2", 5, 64), ("l1_conv5_d4", 5, 64)]


def shapes(channels):
    """Every weight's shape by name, in alphabetical order."""
    found = {"joint.fc1.kernel": (400, 1), "joint.fc1.bias": (1,)}
    for size in (3, 5):
        found[f"joint.l1_conv{size}.kernel"] = (144, size * size * 24, 8)
        found[f"joint.l1_conv{size}.bias"] = (12, 12, 8)
    convs = [("map", name, size, 1, out) for name, size, out in MAP_CONVS]
    convs += [("map", f"l2_conv{size}", size, 64, 4) for size in (3, 5)]
    convs += [("observation", name, size, channels, out) for name, size, out in SEEN_CONVS]
    convs += [("observation", "l2_conv3", 3, 384, 16)]
    for branch, name, size, inputs, outputs in convs:
        found[f"{branch}.{name}.kernel"] = (size, size, inputs, outputs)
        found[f"{branch}.{name}.bias"] = (outputs,)
    norms = [("map", "", 64), ("map", "_1", 8), ("observation", "", 384), ("observation", "_1", 16)]
    for branch, suffix, width in norms:
        for part in ("gamma", "beta"):
            found[f"{branch}.LayerNorm{suffix}.{part}"] = (width,)
    return dict(sorted(found.items()))


def truncated_normal(rng, shape):
    """Standard normals beyond two deviations are drawn again."""
    drawn = rng.standard_normal(shape)
    while (far := np.abs(drawn) > 2).any():
        drawn[far] = rng.standard_normal(far.sum())
    return drawn


def weight(rng, name, shape):
    """PF-net's first kernels; the rest is off its usual 0 or 1, so that no term hides."""
    if name == "joint.fc1.kernel":
        bound = np.sqrt(6 / sum(shape))
        return rng.uniform(-bound, bound, shape)
    if name.endswith("kernel"):
        return truncated_normal(rng, shape) / np.sqrt(np.prod(shape[1:-1] if len(shape) == 3 else shape[:-1]))
    if name.endswith("gamma"):
        return 1 + 0.1 * rng.standard_normal(shape)
    return 0.05 * rng.standard_normal(shape)


def plan(rng, height, width):
    """A floor plan: an outer wall and a few rooms, each a rectangle of walls with one gap for a door."""
    free = np.full((height, width), 2.0)
    rooms = [(4, 4, height - 5, width - 5)]
    for _ in range(6):
        tall, wide = (int(size * rng.uniform(0.25, 0.6)) for size in (height, width))
        top, left = int(rng.integers(0, height - tall)), int(rng.integers(0, width - wide))
        rooms.append((top, left, top + tall, left + wide))
    for number, (top, left, bottom, right) in enumerate(rooms):
        inside = free[top + 5 : bottom - 5, left + 5 : right - 5].copy()
        free[top:bottom, left:right] = 0
        free[top + 5 : bottom - 5, left + 5 : right - 5] = inside
        if number > 0:
            door = int(rng.integers(left + 5, max(left + 6, right - 25)))
            free[top : top + 5, door : door + 20] = 2
    return free


def pictures(rng, batch, steps, channels):
    """Slow waves and a little noise within [-1, 1]."""
    row, column = np.mgrid[:IMAGE, :IMAGE] / IMAGE
    shape = (batch, steps, 1, 1, channels)
    waves = 0.0
    for _ in range(3):
        along, across, phase = rng.uniform(-9, 9, shape), rng.uniform(-9, 9, shape), rng.uniform(0, 2 * np.pi, shape)
        waves = waves + np.sin(along * row[..., None] + across * column[..., None] + phase)
    return np.clip(0.3 * waves + 0.1 * rng.standard_normal((batch, steps, IMAGE, IMAGE, channels)), -1, 1)


def walk(rng, batch, steps, height, width):
    """True states and the robot-frame motion that leads from each to the next."""
    motion = rng.standard_normal((batch, steps, 3)) * [4, 2, 0.2] + [8, 0, 0]
    states = np.empty((batch, steps, 3))
    place = rng.uniform(0.25, 0.75, (batch, 2)) * [width, height]
    state = np.concatenate([place, rng.uniform(-np.pi, np.pi, (batch, 1))], 1)
    for t in range(steps):
        states[:, t] = state
        cosine, sine, (ahead, aside, turn) = np.cos(state[:, 2]), np.sin(state[:, 2]), motion[:, t].T
        state = state + np.stack([cosine * ahead - sine * aside, sine * ahead + cosine * aside, turn], 1)
    return states, motion


def make(options):
    rng = np.random.default_rng(options.seed)
    batch, steps, count = options.batch, options.steps, options.particles
    height, width = options.map_size, options.map_size * 4 // 3
    found = {"map": np.stack([plan(rng, height, width) for _ in range(batch)])[..., None]}
    found["observations"] = pictures(rng, batch, steps, options.channels)
    found["states"], found["odometry"] = walk(rng, batch, steps, height, width)
    centre = found["states"][:, :1] + rng.standard_normal((batch, 1, 3)) * PARTICLE_STD
    found["particles"] = centre + rng.standard_normal((batch, count, 3)) * PARTICLE_STD
    found["log_weights"] = np.full((batch, count), -np.log(count))
    found["noise"] = rng.standard_normal((batch, steps, count, 3))
    labelled = np.zeros(batch * steps, bool)
    labelled[rng.permutation(batch * steps)[: max(1, round(0.1 * batch * steps))]] = True
    for name, shape in shapes(options.channels).items():
        found[name] = weight(rng, name, shape)
    found = {name: np.ascontiguousarray(array, dtype="<f4") for name, array in found.items()}
    return found | {"labelled": labelled.reshape(batch, steps)}


def write(path, arrays):
    with open(path + ".part", "wb") as file:
        np.savez(file, **arrays)
    os.replace(path + ".part", path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    sizes = {"batch": 24, "steps": 4, "particles": 30, "map-size": 300, "channels": 3, "seed": 1}
    for name, value in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    chosen = parser.parse_args()
    write(chosen.out, make(chosen))
