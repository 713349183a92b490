"""PF-net's training step in PyTorch, eagerly: values, gradients and times: python3 house_torch.py IN.npz.

Each step weights the particles, hands them out, then moves them; nothing is resampled. The supervised objective sums
PF-net's loss over labelled steps and divides by batch times steps, plus the L2 term. The semi-supervised one adds
lambda2 times -Q with one block as long as the sequence; the initial density, a constant, is left out.
"""

import argparse
import json
import math
import resource
import statistics
import time

import numpy as np
import torch
from house_inputs import shapes, write
from house_net import joint, local_maps, log_density, move, see_map, see_picture

PIXEL = 0.02
HEADING_SHARE = 0.36


def load(path, options):
    """Inputs and weights as tensors; labels stay booleans."""
    kind = getattr(torch, options.dtype)
    found = np.load(path)
    names = shapes(found["observations"].shape[-1])
    tensor = lambda name: torch.from_numpy(found[name].astype("f8")).to(kind)
    data = {name: tensor(name) for name in found.files if name not in names and name != "labelled"}
    data["labelled"] = torch.from_numpy(found["labelled"])
    data["map"] = data["map"][..., 0]
    # Pictures come with channels last; a permuted view of them already is PyTorch's channels-last format.
    images = data["observations"].flatten(0, 1).permute(0, 3, 1, 2)
    data["observations"] = images if options.layout == "channels_last" else images.contiguous()
    return data, {name: tensor(name).requires_grad_() for name in names}


def motion_std(options):
    return options.noise_metres / PIXEL, math.radians(options.noise_degrees)


def paths(data, options):
    """Particles [B, T, K, 3] as each step hands them out; without resampling no weight enters."""
    poses, found = data["particles"], []
    for t in range(data["odometry"].shape[1]):
        found.append(poses)
        poses = move(poses, data["odometry"][:, t], data["noise"][:, t], motion_std(options))
    return torch.stack(found, 1)


def likelihoods(weights, maps, poses, seen, options):
    """Outputs [B, K] of the network for poses [B, K, 3] and picture features [B, 16, 14, 14]."""
    views = local_maps(maps, poses, options.geometry).reshape(-1, 1, 28, 28)
    if options.layout == "channels_last":
        views = views.to(memory_format=torch.channels_last)
    return joint(weights, see_map(weights, views), seen, options.joint == "split")


def run(weights, data, options):
    """Particles and network outputs of every step, [B, T, K, 3] and [B, T, K]."""
    poses = paths(data, options)
    batch, steps = poses.shape[:2]
    seen = see_picture(weights, data["observations"])
    if options.fold:
        maps = data["map"].repeat_interleave(steps, 0)
        return poses, likelihoods(weights, maps, poses.flatten(0, 1), seen, options).reshape(batch, steps, -1)
    seen = seen.reshape(batch, steps, *seen.shape[1:])
    outputs = [likelihoods(weights, data["map"], poses[:, t], seen[:, t], options) for t in range(steps)]
    return poses, torch.stack(outputs, 1)


def objective(weights, data, options):
    """The parts of the loss, `total` among them, and what they were made of."""
    poses, outputs = run(weights, data, options)
    log_weights = data["log_weights"][:, None] + outputs.cumsum(1)
    belief = log_weights.softmax(-1)
    place = PIXEL * ((belief[..., None] * poses[..., :2]).sum(2) - data["states"][..., :2])
    apart = poses[..., 2] - data["states"][..., 2:]
    turn = (belief * (torch.remainder(apart + math.pi, 2 * math.pi) - math.pi)).sum(-1)
    errors = place.square().sum(-1) + HEADING_SHARE * turn.square()
    known = torch.ones_like(data["labelled"]) if options.all_labels else data["labelled"]
    prediction = (errors * known).sum() / known.numel()
    kernels = [weight for name, weight in weights.items() if name.endswith("kernel")]
    l2 = options.l2scale * sum(kernel.square().sum() for kernel in kernels) / 2
    parts = {"prediction": prediction, "l2": l2, "total": prediction + l2}
    made = {"poses": poses, "outputs": outputs, "log_weights": log_weights, "errors": errors}
    if options.objective == "sdpf":
        logs = outputs.log_softmax(-1) if options.likelihood == "normalised" else outputs
        # The motion into step t carries the noise drawn at step t - 1; the last draw leaves the block.
        moved = log_density(data["noise"][:, :-1], motion_std(options)).sum(1)
        final = belief[:, -1].detach() if options.detach_weights else belief[:, -1]
        made["q_rows"] = (final * (moved + logs.sum(1))).sum(-1)
        parts["q"] = made["q_rows"].mean()
        parts["total"] = options.lambda1 * prediction + l2 - options.lambda2 * parts["q"]
    return parts, made


def golden_inputs(kind, channels):
    """The waves and the two views of the import oracle, for whatever weights are given."""
    y, x = torch.meshgrid(torch.arange(56.0, dtype=kind), torch.arange(56.0, dtype=kind), indexing="ij")
    picture = torch.stack([(0.1 * y + 0.2 * x + c).sin() for c in range(channels)])[None]
    row, column = torch.meshgrid(torch.arange(28), torch.arange(28), indexing="ij")
    checks, half = (row // 4 + column // 4) % 2 == 0, row < 14
    return picture, torch.stack([checks, half])[:, None].to(kind) * 2 - 1


def dump(weights, data, options):
    """Everything another implementation is held to, by name."""
    parts, made = objective(weights, data, options)
    gradients = torch.autograd.grad(parts["total"], list(weights.values()))
    found = {f"grad.{name}": gradient for name, gradient in zip(weights, gradients)}
    found |= {f"loss.{name}": part for name, part in parts.items()} | made
    batch, count = data["particles"].shape[:2]
    seen = see_picture(weights, data["observations"])
    found["observation_features"] = seen.permute(0, 2, 3, 1).reshape(batch, -1, 14, 14, 16)
    poses = data["particles"].clone().requires_grad_()
    first = seen.reshape(batch, -1, 16, 14, 14)[:, 0].detach()
    outputs = likelihoods(weights, data["map"], poses, first, options)
    found["pose_gradient"] = torch.autograd.grad(outputs.sum(), poses)[0]
    found["local_maps"] = local_maps(data["map"], data["particles"], options.geometry)
    features = see_map(weights, found["local_maps"].reshape(-1, 1, 28, 28))
    found["map_features_sum"] = features.sum((1, 2, 3)).reshape(batch, count)
    picture, views = golden_inputs(poses.dtype, data["observations"].shape[1])
    features, seen = see_map(weights, views), see_picture(weights, picture)
    found["golden_map_features_sum"], found["golden_observation_features_sum"] = features.sum((1, 2, 3)), seen.sum()
    found["golden_outputs"] = joint(weights, features, seen, False)[0]
    found["motion_std"] = torch.tensor(motion_std(options), dtype=torch.float64)
    return {name: value.detach().contiguous().numpy() for name, value in found.items()}


def timed(work, rounds):
    """Seconds by the clock, and of processor time: with one thread the latter survives a busy machine."""
    work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return times


def training_times(weights, data, options):
    def step():
        for weight in weights.values():
            weight.grad = None
        objective(weights, data, options)[0]["total"].backward()

    return timed(step, options.rounds)


def evaluation_times(weights, data, options):
    """One step of tracking with one map: encode, weight, estimate, move."""
    generator = torch.Generator().manual_seed(1)
    draw = lambda: torch.randn(1, options.count, 3, generator=generator, dtype=data["map"].dtype)
    state = {"poses": data["particles"][:1, :1] + draw() * torch.tensor([15.0, 15.0, 0.5]), "t": 0}
    state["log_weights"] = torch.full((1, options.count), -math.log(options.count))

    def step():
        t = state["t"] = (state["t"] + 1) % data["odometry"].shape[1]
        seen = see_picture(weights, data["observations"][t : t + 1])
        chunks = state["poses"].split(options.chunk or options.count, 1)
        outputs = torch.cat([likelihoods(weights, data["map"][:1], part, seen, options) for part in chunks], 1)
        belief = (state["log_weights"] + outputs).softmax(-1)
        (belief[..., None] * state["poses"]).sum(1)
        move(state["poses"], data["odometry"][:1, t], draw(), (2.0, math.radians(5)))

    with torch.inference_mode():
        return timed(step, options.rounds)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inputs")
    choices = {
        "dtype": ["float32", "float64"],
        "geometry": ["released", "rigid"],
        "objective": ["supervised", "sdpf"],
        "likelihood": ["normalised", "literal"],
        "layout": ["channels_last", "contiguous"],
        "joint": ["split", "together"],
    }
    for name, values in choices.items():
        parser.add_argument(f"--{name}", choices=values, default=values[0])
    numbers = {"rounds": 5, "threads": 2, "count": 1000, "chunk": 50}
    numbers |= {"noise-metres": 0.0, "noise-degrees": 0.0, "lambda1": 1.0, "lambda2": 0.04, "l2scale": 4e-6}
    for name, value in numbers.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    for name in ("json", "evaluate", "all-labels", "detach-weights", "fold"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--dump")
    return parser


def main():
    options = arguments().parse_args()
    torch.set_num_threads(options.threads)
    data, weights = load(options.inputs, options)
    if options.dump:
        write(options.dump, dump(weights, data, options))
        return
    pairs = (evaluation_times if options.evaluate else training_times)(weights, data, options)
    times, busy = zip(*pairs)
    found = {"version": torch.__version__, "what": "evaluation" if options.evaluate else "training"}
    found |= {"min_s": min(times), "median_s": statistics.median(times), "min_cpu_s": min(busy), "times_s": times}
    found["memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if options.json:
        print(json.dumps(found))
    else:
        clock = "{what}: {min_s:.3f} s at best, {median_s:.3f} s median, {min_cpu_s:.3f} s of processor"
        print((clock + ", {memory_mib:.0f} MiB at most").format(**found))


if __name__ == "__main__":
    main()
