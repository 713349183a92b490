"""The standard training step and the online step in PyTorch, eagerly: python3 with_torch.py FOLDER ROUNDS."""

import json
import math
import os
import resource
import sys
import time

import torch
import torch.nn.functional as F
from inputs import BATCH, IMAGE, MASK, PARTICLES, STEPS, read, shapes

BLOCK = 20
NOISE = torch.tensor([20.0, 20.0, 0.5])
BANDWIDTH = 0.2
LOG_NOISE = -math.log(20 * 20 * 0.5) - 1.5 * math.log(2 * math.pi)
LOG_KERNEL = -3 * math.log(BANDWIDTH) - 1.5 * math.log(2 * math.pi)


def encode(weights, images, masks):
    for k in (0, 2, 4):
        images = F.relu(F.conv2d(images, weights[k], weights[k + 1], 2, 1))
    flat = images.reshape(len(images), MASK)
    return F.relu(F.linear(flat if masks is None else flat * masks, weights[6], weights[7]))


def decode(weights, features):
    images = F.relu(F.linear(features, weights[16], weights[17])).reshape(-1, 64, 3, 3)
    for k in (18, 20, 22):
        images = F.relu(F.conv_transpose2d(images, weights[k], weights[k + 1], 2, 1, 1))
    return images


def encode_poses(weights, poses):
    x, y, heading = poses.unbind(-1)
    rows = torch.stack([(x - 500) / 300, (y - 250) / 300, heading.cos(), heading.sin()], -1)
    for k in (8, 10, 12, 14):
        rows = F.relu(F.linear(rows, weights[k], weights[k + 1]))
    return rows


def units(features):
    return features / (features.square().sum(-1, keepdim=True) + 1e-12).sqrt()


def likelihoods(weights, poses, seen):
    rows = encode_poses(weights, poses)
    cosines = (rows * seen[:, None]).sum(-1) / (rows.square().sum(-1) + 1e-12).sqrt()
    return 1 / (1e-8 + 1 - cosines)


def ancestors(belief, offsets):
    count = belief.shape[1]
    cumulated = torch.cumsum(belief, 1)
    markers = (torch.arange(count, dtype=torch.float32)[None] + offsets[:, None]) / count
    return torch.searchsorted(cumulated / cumulated[:, -1:], markers).clamp_(max=count - 1)


def move(poses, action, noise):
    cosine, sine, action = poses[..., 2].cos(), poses[..., 2].sin(), action[:, None]
    ahead, aside = action[..., 0], action[..., 1]
    turn = action[..., 2].expand_as(cosine)
    return poses + torch.stack([ahead * cosine - aside * sine, ahead * sine + aside * cosine, turn], -1) + noise * NOISE


def drawn(poses, chosen):
    return torch.gather(poses, 1, chosen[..., None].expand(-1, -1, 3))


def loss(weights, data, noise, offsets, masks):
    images, actions, states, known, poses = data
    features = encode(weights, images, masks)
    reconstruction = F.mse_loss(decode(weights, features), images)
    seen = units(features.reshape(BATCH, STEPS, -1))
    belief = torch.full((BATCH, PARTICLES), 1 / PARTICLES)
    lines, paths, density, blocks = None, 0.0, 0.0, 0
    for t in range(STEPS):
        chosen = ancestors(belief.detach(), offsets[t])
        poses = move(drawn(poses.detach(), chosen), actions[:, t], noise[t])
        l = likelihoods(weights, poses, seen[:, t])
        belief = l / l.sum(1, keepdim=True)
        gained = l.log() + LOG_NOISE - 0.5 * noise[t].square().sum(-1)
        lines = gained if lines is None else torch.gather(lines, 1, chosen) + gained
        apart = poses - states[:, t][:, None]
        turn = torch.remainder(apart[..., 2:] + math.pi, 2 * math.pi) - math.pi
        apart = torch.cat([apart[..., :2], turn], -1) / NOISE
        kernels = LOG_KERNEL - 0.5 * (apart / BANDWIDTH).square().sum(-1)
        density = density - (torch.logsumexp(belief.log() + kernels, 1) * known[:, t]).sum()
        if (t + 1) % BLOCK == 0 or t == STEPS - 1:
            paths, blocks, lines = paths + (belief * lines).sum(1).mean(), blocks + 1, None
    return 10 * density / known.sum() - 0.01 * paths / blocks + 200 * reconstruction


def train(folder, rounds):
    tensor = lambda name, shape: torch.from_numpy(read(folder, name, shape).copy())
    weights = [tensor(f"p{k}", shape).requires_grad_() for k, shape in enumerate(shapes())]
    data = (
        tensor("obs", (BATCH * STEPS, *IMAGE)),
        tensor("act", (BATCH, STEPS, 3)),
        tensor("state", (BATCH, STEPS, 3)),
        tensor("lab", (BATCH, STEPS)),
        tensor("init", (BATCH, PARTICLES, 3)),
    )
    fixed = (
        tensor("noise", (STEPS, BATCH, PARTICLES, 3)),
        tensor("u", (STEPS, BATCH)),
        tensor("drop", (BATCH * STEPS, MASK)),
    )
    optimiser = torch.optim.Adam(weights, lr=3e-4)
    value = loss(weights, data, *fixed)
    value.backward()
    norm = math.sqrt(sum(w.grad.double().square().sum().item() for w in weights))
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        optimiser.zero_grad()
        masks = (torch.rand(BATCH * STEPS, MASK) < 0.3).float() / 0.3
        draws = torch.randn(STEPS, BATCH, PARTICLES, 3), torch.rand(STEPS, BATCH), masks
        loss(weights, data, *draws).backward()
        optimiser.step()
        times.append(time.perf_counter() - start)
    return {"loss": value.item(), "gradient_norm": norm, "training_s": times[1:]}


def online(folder, count, steps):
    tensor = lambda name, shape: torch.from_numpy(read(folder, name, shape).copy())
    weights = [tensor(f"p{k}", shape) for k, shape in enumerate(shapes())]
    images = tensor("obs", (BATCH * STEPS, *IMAGE))
    action = tensor("act", (BATCH, STEPS, 3))[:1, 0]
    first = tensor("init", (BATCH, PARTICLES, 3))[:1, :1]
    times = []
    with torch.inference_mode():
        poses, belief = first + torch.randn(1, count, 3) * NOISE, torch.full((1, count), 1 / count)
        for _ in range(5):
            start = time.perf_counter()
            for step in range(steps):
                seen = units(encode(weights, images[step % 64 : step % 64 + 1], None))
                chosen = ancestors(belief, torch.rand(1))
                poses = move(drawn(poses, chosen), action, torch.randn(1, count, 3))
                l = likelihoods(weights, poses, seen)
                belief = l / l.sum(1, keepdim=True)
                (belief[..., None] * poses).sum(1)
            times.append((time.perf_counter() - start) / steps * 1e6)
    return times[1:]


if __name__ == "__main__":
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    folder, rounds = sys.argv[1], int(sys.argv[2])
    found = train(folder, rounds)
    found["memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["online_us"] = {"100": online(folder, 100, 200), "10000": online(folder, 10000, 60)}
    found["version"] = torch.__version__
    print(json.dumps(found))
