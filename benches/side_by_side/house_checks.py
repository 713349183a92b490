"""Checks of the PyTorch twin against literal numpy and finite differences: python3 house_checks.py SMALL.npz."""

import math
import sys

import numpy as np
import torch
from house_net import joint, local_maps, sampling_points, see_map, see_picture
from house_torch import arguments, dump, golden_inputs, likelihoods, load, objective

MAP_CONVS = [("l1_conv3", 1), ("l1_conv5", 1), ("l1_conv7", 1), ("l1_conv7_d2", 2), ("l1_conv7_d3", 3)]
SEEN_CONVS = [("l1_conv3", 1), ("l1_conv5", 1), ("l1_conv5_d2", 2), ("l1_conv5_d4", 4)]


def chained_points(pose, height, width):
    """The released chain of matrices in normalised coordinates, cell by cell."""
    x, y, theta = pose
    turn = -theta - math.pi / 2
    c, s = math.cos(turn), math.sin(turn)
    shift = np.array([[1, 0, 0], [0, 1, -1], [0, 0, 1.0]])
    scale = np.diag([224 / width, 224 / height, 1])
    rotate = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    place = np.array([[1, 0, 2 * x / width - 1], [0, 1, 2 * y / height - 1], [0, 0, 1]])
    gy, gx = np.meshgrid(np.linspace(-1, 1, 28), np.linspace(-1, 1, 28), indexing="ij")
    nx, ny, _ = place @ rotate @ scale @ shift @ np.stack([gx.ravel(), gy.ravel(), np.ones(784)])
    return ((nx + 1) * width / 2).reshape(28, 28), ((ny + 1) * height / 2).reshape(28, 28)


def clipped_view(plan, x, y):
    """The released interpolation: four weights made of the clipped indices."""
    height, width = plan.shape
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    x0, x1 = np.clip(x0, 0, width - 1), np.clip(x0 + 1, 0, width - 1)
    y0, y1 = np.clip(y0, 0, height - 1), np.clip(y0 + 1, 0, height - 1)
    free = (x1 - x) * (y1 - y) * plan[y0, x0] + (x1 - x) * (y - y0) * plan[y1, x0]
    free += (x - x0) * (y1 - y) * plan[y0, x1] + (x - x0) * (y - y0) * plan[y1, x1]
    return -(free - 1)


def np_conv(w, name, image, dilation=1):
    kernel, bias = w[f"{name}.kernel"], w[f"{name}.bias"]
    side, size = image.shape[0], kernel.shape[0]
    pad = (size - 1) * dilation // 2
    wide = np.pad(image, ((pad, pad), (pad, pad), (0, 0)))
    found = np.zeros((side, side, kernel.shape[3])) + bias
    for i in range(size):
        for j in range(size):
            found += wide[i * dilation :][:side, j * dilation :][:, :side] @ kernel[i, j]
    return found


def np_norm(w, name, image):
    return (image - image.mean()) / np.sqrt(image.var() + 1e-12) * w[f"{name}.gamma"] + w[f"{name}.beta"]


def np_pool(image, side):
    """Windows of three every two; what sticks out is not there."""
    rows = [[image[2 * i : 2 * i + 3, 2 * j : 2 * j + 3].max((0, 1)) for j in range(side)] for i in range(side)]
    return np.array(rows)


def np_map(w, view):
    image = np.concatenate([np_conv(w, f"map.{n}", view[..., None], d) for n, d in MAP_CONVS], 2)
    image = np_pool(np.maximum(np_norm(w, "map.LayerNorm", image), 0), 14)
    image = np.concatenate([np_conv(w, f"map.l2_conv{size}", image) for size in (3, 5)], 2)
    return np.maximum(np_norm(w, "map.LayerNorm_1", image), 0)


def np_picture(w, picture):
    image = np.concatenate([np_conv(w, f"observation.{n}", picture, d) for n, d in SEEN_CONVS], 2)
    image = np.maximum(np_norm(w, "observation.LayerNorm", np_pool(image, 28)), 0)
    image = np_pool(np_conv(w, "observation.l2_conv3", image), 14)
    return np.maximum(np_norm(w, "observation.LayerNorm_1", image), 0)


def np_joint(w, mapped, seen):
    both, parts = np.concatenate([mapped, seen], 2), []
    for size, wide in ((3, both), (5, np.pad(both, ((1, 1), (1, 1), (0, 0))))):
        kernel, found = w[f"joint.l1_conv{size}.kernel"], np.empty((12, 12, 8))
        for r in range(12):
            for c in range(12):
                found[r, c] = wide[r : r + size, c : c + size].reshape(-1) @ kernel[r * 12 + c]
        parts.append(np.maximum(found + w[f"joint.l1_conv{size}.bias"], 0))
    flat = np_pool(np.concatenate(parts, 2), 5).reshape(400)
    return (flat @ w["joint.fc1.kernel"] + w["joint.fc1.bias"])[0]


def check(what, error, bound):
    print(f"{'ok ' if error <= bound else 'BAD'} {what}: {error:.2e} (bound {bound:.0e})")
    return error <= bound


def geometry_checks(data):
    wide = sampling_points(torch.tensor([400.0, 200.0, 0.0], dtype=torch.float64), 500, 1000, "released")
    rigid = sampling_points(torch.tensor([400.0, 200.0, 0.0], dtype=torch.float64), 500, 1000, "rigid")
    # 28 cells have no middle column: the mean of the two middle ones stands for it.
    middle = [[part[0, 13:15].mean().item() for part in points] for points in (wide, rigid)]
    yield check("top centre at (848, 200) and (624, 200)", np.abs(np.array(middle) - [[848, 200], [624, 200]]).max(), 1e-9)
    for geometry, (height, width) in (("released", (311, 517)), ("released", (90, 70)), ("rigid", (200, 200))):
        worst = 0.0
        for pose in np.random.default_rng(2).normal(size=(50, 3)) * [200, 200, 3]:
            points = sampling_points(torch.from_numpy(pose), height, width, geometry)
            for ours, theirs in zip(points, chained_points(pose, height, width)):
                worst = max(worst, np.abs(ours.numpy() - theirs).max())
        yield check(f"closed form against the chain of matrices, {geometry} {height}x{width}", worst, 1e-9)
    height, width = data["map"].shape[1:]
    for geometry in ("released", "rigid"):
        views, worst, inside = local_maps(data["map"], data["particles"], geometry), 0.0, 0
        for b, k in np.ndindex(views.shape[:2]):
            x, y = (part.numpy() for part in sampling_points(data["particles"][b, k], height, width, geometry))
            worst = max(worst, np.abs(views[b, k].numpy() - clipped_view(data["map"][b].numpy(), x, y)).max())
            inside += ((x >= 0) & (x < width - 1) & (y >= 0) & (y < height - 1)).sum()
        yield check(f"views against clipped indices, {geometry}, {inside / views.numel():.0%} inside", worst, 1e-9)


def network_checks(data, weights, options):
    w = {name: weight.detach().numpy() for name, weight in weights.items()}
    picture, views = golden_inputs(torch.float64, data["observations"].shape[1])
    seen, mapped = np_picture(w, picture[0].permute(1, 2, 0).numpy()), np.stack([np_map(w, v[0]) for v in views.numpy()])
    ours = see_picture(weights, picture)[0].permute(1, 2, 0).detach().numpy()
    yield check("observation features against numpy", np.abs(seen - ours).max(), 1e-11)
    ours = see_map(weights, views).permute(0, 2, 3, 1).detach().numpy()
    yield check("map features against numpy", np.abs(mapped - ours).max(), 1e-11)
    expected = [np_joint(w, view, seen) for view in mapped]
    for split in (False, True):
        ours = joint(weights, see_map(weights, views), see_picture(weights, picture), split)[0].detach().numpy()
        yield check(f"outputs against numpy, split {split}", np.abs(expected - ours).max(), 1e-11)
    print(f"    golden formula, these weights: map {mapped.sum((1, 2, 3))}, observation {seen.sum():.6f}, outputs {expected}")
    found = dump(weights, data, options)
    images, worst = data["observations"].permute(0, 2, 3, 1).numpy(), 0.0
    steps = data["odometry"].shape[1]
    for b in range(len(found["local_maps"])):
        seen = np_picture(w, images[b * steps])
        for k, view in enumerate(found["local_maps"][b]):
            worst = max(worst, abs(np_joint(w, np_map(w, view), seen) - found["outputs"][b, 0, k]))
    yield check("first step's outputs against numpy", worst, 1e-11)
    yield check("total against numpy", abs(np_total(w, data, found, options) - found["loss.total"]), 1e-12)


def np_total(w, data, found, options):
    """The loss again from outputs and particles, with loops."""
    labels = np.ones_like(data["labelled"]) if options.all_labels else data["labelled"].numpy()
    logs, total, q = data["log_weights"].numpy().copy(), 0.0, []
    for b, (poses, outputs) in enumerate(zip(found["poses"], found["outputs"])):
        lines = np.zeros(len(logs[b]))
        for t, (pose, output) in enumerate(zip(poses, outputs)):
            logs[b] += output
            belief = np.exp(logs[b]) / np.exp(logs[b]).sum()
            apart = pose - data["states"][b, t].numpy()
            turn = belief @ np.arctan2(np.sin(apart[:, 2]), np.cos(apart[:, 2]))
            total += labels[b, t] * (((0.02 * belief @ apart[:, :2]) ** 2).sum() + 0.36 * turn**2) / labels.size
            lines += output - (np.log(np.exp(output).sum()) if options.likelihood == "normalised" else 0)
            if t > 0:
                lines += np_density(data, poses, b, t, found["motion_std"])
        q.append(belief @ lines)
    total += options.l2scale * sum((k**2).sum() / 2 for name, k in w.items() if name.endswith("kernel"))
    return total - (options.lambda2 * np.mean(q) if options.objective == "sdpf" else 0)


def np_density(data, poses, b, t, std):
    """The Gaussian motion density out of the poses themselves: heading noise first, then place."""
    if not std.all():
        return 0
    ahead, aside, turn = data["odometry"][b, t - 1].numpy()
    before, after = poses[t - 1], poses[t]
    heading = after[:, 2] - turn
    drift = np.stack([np.cos(heading) * ahead - np.sin(heading) * aside, np.sin(heading) * ahead + np.cos(heading) * aside], 1)
    z = np.concatenate([(after - before)[:, :2] - drift, (heading - before[:, 2])[:, None]], 1) / std[[0, 0, 1]]
    return (-0.5 * z**2 - np.log(std[[0, 0, 1]]) - 0.5 * np.log(2 * np.pi)).sum(1)


def slope_error(value, array, place, gradient, steps, bound):
    """Distance of the central difference from the gradient; a kink nearer than the step calls for a shorter one."""
    kept, error = array[place].item(), math.inf
    with torch.no_grad():
        for step in steps:
            ends = []
            for shift in (step, -step):
                array[place] = kept + shift
                ends.append(value().item())
            array[place] = kept
            error = min(error, abs((ends[0] - ends[1]) / (2 * step) - gradient))
            if error <= bound:
                break
    return error


def gradient_checks(data, weights, options):
    """Central differences at the largest entry and a random one of every tensor."""
    found, rng = dump(weights, data, options), np.random.default_rng(3)
    total = lambda: objective(weights, data, options)[0]["total"]
    for name, weight in weights.items():
        gradient, worst = found[f"grad.{name}"], 0.0
        # What cannot be told from 0 (the last bias under a softmax) is held to the differences' own rounding.
        scale = max(np.abs(gradient).max(), 1e-6)
        for flat in (int(np.abs(gradient).argmax()), int(rng.integers(gradient.size))):
            place = np.unravel_index(flat, gradient.shape)
            error = slope_error(total, weight, place, gradient[place], (1e-5, 1e-6, 1e-7), 1e-6 * scale)
            worst = max(worst, error / scale)
        yield check(f"slope of {name}, {options.objective} {options.likelihood}, |g| {scale:.1e}", worst, 1e-4)


def pose_checks(data, weights, options):
    gradient, poses = dump(weights, data, options)["pose_gradient"], data["particles"].clone()
    batch, steps = data["odometry"].shape[:2]
    seen = see_picture(weights, data["observations"]).reshape(batch, steps, 16, 14, 14)[:, 0].detach()
    value = lambda: likelihoods(weights, data["map"], poses, seen, options).sum()
    worst = 0.0
    for place in np.ndindex(gradient.shape):
        scale = max(1, abs(gradient[place]))
        error = slope_error(value, poses, place, gradient[place], (1e-6, 1e-7, 1e-8), 1e-6 * scale)
        worst = max(worst, error / scale)
    yield check(f"slopes of {gradient.size} pose entries, {options.geometry}", worst, 1e-5)


def main():
    quick = ["--dtype", "float64", "--noise-metres", "0.04", "--noise-degrees", "5"]
    kinds = [[], ["--objective", "sdpf", "--geometry", "rigid"], ["--objective", "sdpf", "--likelihood", "literal", "--all-labels"]]
    results = []
    for number, kind in enumerate(kinds):
        options = arguments().parse_args([sys.argv[1], *quick, *kind])
        data, weights = load(sys.argv[1], options)
        if number == 0:
            results += geometry_checks(data)
        results += [*network_checks(data, weights, options), *pose_checks(data, weights, options)]
        results += gradient_checks(data, weights, options)
    print(f"{sum(results)} of {len(results)} checks hold")
    sys.exit(not all(results))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
