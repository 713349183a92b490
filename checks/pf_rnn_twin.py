"""The cells and the loss of PF-RNNs once more, in plain Python, from the authors' description.

    python3 checks/pf_rnn_twin.py           compares with what tests of `driftless` are held against, and exits with 1 if it differs
    python3 checks/pf_rnn_twin.py --write   writes it

Parameters, inputs and random numbers are sines of their places (`wave`), so that both sides have them without a file. Linear
layers are rows of inputs times columns of outputs; everything else follows Ma, Karkus, Hsu & Lee (2020) and their code: PyTorch's
softplus, LeakyReLU 0.01, batch normalisation of each particle index over batch and units with 1e-5 under the root and unbiased
variances in its memory, soft resampling with a half, here by systematic numbers.
"""

import math
import pathlib
import sys

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "crates/driftless/src/baseline/particles/golden.txt"
BATCH, PARTICLES, UNITS, INPUTS, STEPS = 2, 3, 2, 2, 3
# Both sides round some hundred operations to 1.1e-16, of numbers up to 3.
TOLERANCE = 1e-12


def wave(place, index):
    return 0.4 * math.sin(0.7 * index + 1.3 * place + 0.5)


def matrix(place, rows, columns):
    return [[wave(place, i * columns + j) for j in range(columns)] for i in range(rows)]


def linear(x, weight, bias):
    return [sum(x[i] * weight[i][j] for i in range(len(x))) + bias[j] for j in range(len(bias))]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def leaky(x):
    return x if x > 0 else 0.01 * x


def batch_norm(values):
    """[B][K][H], one mean and variance for each k; what PyTorch would remember of them."""
    memory, out = [], [[[0.0] * UNITS for _ in range(PARTICLES)] for _ in range(BATCH)]
    for k in range(PARTICLES):
        row = [values[b][k][h] for b in range(BATCH) for h in range(UNITS)]
        mean = sum(row) / len(row)
        squares = sum((x - mean) ** 2 for x in row)
        memory.append((mean, squares / (len(row) - 1)))
        scale, shift = 1 + wave(4, k), wave(5, k)
        for b in range(BATCH):
            for h in range(UNITS):
                normal = (values[b][k][h] - mean) / math.sqrt(squares / len(row) + 1e-5)
                out[b][k][h] = leaky(normal * scale + shift)
    return out, memory


def resample(log_weights, uniform):
    weights = [math.exp(x) for x in log_weights]
    proposal = [0.5 * w + 0.5 / PARTICLES for w in weights]
    ancestors = []
    for j in range(PARTICLES):
        marker, total = (j + uniform) / PARTICLES, 0.0
        for i, q in enumerate(proposal):
            total += q
            if total >= marker:
                break
        ancestors.append(i)
    corrected = [weights[i] / proposal[i] for i in ancestors]
    whole = sum(corrected)
    return ancestors, [math.log(w / whole) for w in corrected]


def cell(kind):
    width = UNITS + INPUTS
    gates = 5 if kind == "lstm" else 2
    w, b = matrix(0, width, gates * UNITS), [wave(1, i) for i in range(gates * UNITS)]
    wn, bn = matrix(2, width, 2 * UNITS), [wave(3, i) for i in range(2 * UNITS)]
    wl, bl = matrix(6, width, 1), [wave(7, 0)]
    state = 2 * UNITS if kind == "lstm" else UNITS
    start = [[[0.5 + wave(40, (s * PARTICLES + k) * state + i) for i in range(state)] for k in range(PARTICLES)] for s in range(BATCH)]
    h = [[start[s][k][:UNITS] for k in range(PARTICLES)] for s in range(BATCH)]
    c = [[start[s][k][UNITS:] for k in range(PARTICLES)] for s in range(BATCH)]
    p = [[-math.log(PARTICLES)] * PARTICLES for _ in range(BATCH)]
    memory = []
    for t in range(STEPS):
        def drawn(s, k, both):
            noise = [3 * wave(30 + t, (s * PARTICLES + k) * UNITS + i) for i in range(UNITS)]
            return [both[i] + math.log(1 + math.exp(both[UNITS + i])) * noise[i] for i in range(UNITS)]

        u = [[wave(20 + t, s * INPUTS + i) for i in range(INPUTS)] for s in range(BATCH)]
        o = [[wave(10 + t, s * INPUTS + i) for i in range(INPUTS)] for s in range(BATCH)]
        parts = [[linear(h[s][k] + u[s], w, b) for k in range(PARTICLES)] for s in range(BATCH)]
        pick = lambda s, k, g: parts[s][k][g * UNITS : (g + 1) * UNITS]
        new_h, new_c, likelihood = [[None] * PARTICLES for _ in h], [[None] * PARTICLES for _ in h], [[0.0] * PARTICLES for _ in h]
        if kind == "lstm":
            candidate = [[drawn(s, k, pick(s, k, 3) + pick(s, k, 4)) for k in range(PARTICLES)] for s in range(BATCH)]
        else:
            reset = lambda s, k: [sigmoid(r) * x for r, x in zip(pick(s, k, 1), h[s][k])]
            candidate = [[drawn(s, k, linear(reset(s, k) + u[s], wn, bn)) for k in range(PARTICLES)] for s in range(BATCH)]
        candidate, found = batch_norm(candidate)
        memory.append(found)
        for s in range(BATCH):
            for k in range(PARTICLES):
                g = candidate[s][k]
                if kind == "lstm":
                    f, i, out = (list(map(sigmoid, pick(s, k, n))) for n in range(3))
                    new_c[s][k] = [f[n] * c[s][k][n] + i[n] * g[n] for n in range(UNITS)]
                    new_h[s][k] = [out[n] * math.tanh(new_c[s][k][n]) for n in range(UNITS)]
                    seen = o[s] + new_h[s][k]
                else:
                    z = list(map(sigmoid, pick(s, k, 0)))
                    new_h[s][k] = [(1 - z[n]) * g[n] + z[n] * h[s][k][n] for n in range(UNITS)]
                    new_c[s][k] = []
                    seen = new_h[s][k] + o[s]
                likelihood[s][k] = linear(seen, wl, bl)[0]
            joint = [p[s][k] + likelihood[s][k] for k in range(PARTICLES)]
            evidence = math.log(sum(math.exp(x) for x in joint))
            ancestors, p[s] = resample([x - evidence for x in joint], 0.5 + wave(50 + t, s))
            h[s] = [new_h[s][a] for a in ancestors]
            c[s] = [new_c[s][a] for a in ancestors]
    yield f"{kind}.states", [x for s in range(BATCH) for k in range(PARTICLES) for x in h[s][k] + c[s][k]]
    yield f"{kind}.log_weights", [x for s in range(BATCH) for x in p[s]]
    yield f"{kind}.statistics", [x for found in memory for part in zip(*found) for x in part]


def loss():
    """Labels at all steps but the second of the first sequence; a box of (-1, 2) to (3, 10)."""
    weights = [math.exp(0.1 * t) for t in range(STEPS)]
    weights = [w / sum(weights) for w in weights]
    total, terms = 0.0, []
    for s in range(BATCH):
        for t in range(STEPS):
            if (s, t) == (0, 1):
                continue
            raw = [wave(60, (s * STEPS + t) * 3 + n) for n in range(3)]
            truth = [(1 + 4 * raw[0] + 1) / 4, (6 + 5 * raw[1] - 2) / 8, (5 * raw[2] / math.tau) % 1]
            said = [0.5 + wave(61, (s * STEPS + t) * 3 + n) for n in range(3)]
            scale = [1, 1, 0.1]
            total += weights[t] * sum(scale[n] * (said[n] - truth[n]) ** 2 for n in range(3))
            logs = []
            for n in range(3):
                each = [0.5 + wave(62 + t, (s * PARTICLES + k) * 3 + n) for k in range(PARTICLES)]
                logs.append(-math.log(sum(math.exp(-weights[t] * (x - truth[n]) ** 2) for x in each) / PARTICLES))
            terms.append((logs[0] + logs[1]) / 2 + 0.1 * logs[2])
    yield "losses", [total, sum(terms) / len(terms)]


def main():
    lines = [(name, numbers) for part in (cell("lstm"), cell("gru"), loss()) for name, numbers in part]
    text = "".join(f"{name} {' '.join(map(repr, numbers))}\n" for name, numbers in lines)
    if "--write" in sys.argv:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
        return 0
    stored = {line.split()[0]: list(map(float, line.split()[1:])) for line in GOLDEN.read_text().splitlines()}
    wrong = 0
    for name, numbers in lines:
        known = stored.get(name, [])
        same = len(known) == len(numbers) and all(abs(a - b) < TOLERANCE for a, b in zip(known, numbers))
        print(f"{name}: {'as stored' if same else 'DIFFERS'}")
        wrong += not same
    return 1 if wrong or len(stored) != len(lines) else 0


if __name__ == "__main__":
    sys.exit(main())
