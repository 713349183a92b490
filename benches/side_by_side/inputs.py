"""Fixed inputs and first weights of the standard training step, as raw little-endian f32: the same for everybody."""

import sys
from pathlib import Path

import numpy as np

BATCH, STEPS, PARTICLES = 32, 99, 100
IMAGE, MASK = (3, 24, 24), 576
# Weights and biases take turns, in PyTorch's layouts: three convolutions, a layer; the four layers of the pose
# encoder; a layer, three transposed convolutions.
CONVS = [(16, 3), (32, 16), (64, 32)]
POSES = [(16, 4), (32, 16), (64, 32), (128, 64)]
DECONVS = [(64, 32), (32, 16), (16, 3)]


def shapes():
    pairs = [((o, i, 3, 3), (o,)) for o, i in CONVS] + [((128, MASK), (128,))]
    pairs += [((o, i), (o,)) for o, i in POSES] + [((MASK, 128), (MASK,))]
    pairs += [((i, o, 3, 3), (o,)) for i, o in DECONVS]
    return [shape for pair in pairs for shape in pair]


def first_weights(rng):
    """Uniform within 1 / sqrt(inputs); a transposed convolution counts its outputs."""
    arrays = []

    def pair(weight, bias, inputs):
        bound = 1 / np.sqrt(inputs)
        arrays.extend([rng.uniform(-bound, bound, weight), rng.uniform(-bound, bound, bias)])

    for o, i in CONVS:
        pair((o, i, 3, 3), (o,), 9 * i)
    for o, i in [(128, MASK), *POSES, (MASK, 128)]:
        pair((o, i), (o,), i)
    for i, o in DECONVS:
        pair((i, o, 3, 3), (o,), 9 * o)
    arrays[-1][:] = 0.5  # the last ReLU is to stay alive
    return arrays


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)

    def write(name, array):
        np.ascontiguousarray(array, dtype="<f4").tofile(folder / f"{name}.bin")

    write("obs", rng.random((BATCH, STEPS, *IMAGE)))
    write("act", rng.normal(size=(BATCH, STEPS, 3)) * np.array([20, 5, 0.3]))
    x, y, heading = (rng.random((BATCH, STEPS)) for _ in range(3))
    states = np.stack([x * 1000, y * 500, heading * 6.28 - 3.14], -1)
    write("state", states)
    write("lab", rng.random((BATCH, STEPS)) < 0.1)
    write("init", states[:, :1] + rng.normal(size=(BATCH, PARTICLES, 3)) * np.array([50, 50, 0.5]))
    write("noise", rng.normal(size=(STEPS, BATCH, PARTICLES, 3)))
    write("u", rng.random((STEPS, BATCH)))
    write("drop", (rng.random((BATCH * STEPS, MASK)) < 0.3) / 0.3)
    for number, array in enumerate(first_weights(rng)):
        write(f"p{number}", array)


def read(folder, name, shape):
    return np.fromfile(Path(folder) / f"{name}.bin", dtype="<f4").reshape(shape)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
