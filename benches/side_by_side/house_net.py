"""PF-net's local maps and likelihood network in PyTorch, on weights that keep TensorFlow's names and layouts."""

import math

import torch
import torch.nn.functional as F

SIDE = 28
REACH = 112.0  # half the window's width in map pixels: 28 cells times 8, halved
MAP_CONVS = [("l1_conv3", 1), ("l1_conv5", 1), ("l1_conv7", 1), ("l1_conv7_d2", 2), ("l1_conv7_d3", 3)]
SEEN_CONVS = [("l1_conv3", 1), ("l1_conv5", 1), ("l1_conv5_d2", 2), ("l1_conv5_d4", 4)]


def sampling_points(poses, height, width, geometry):
    """Map coordinates [..., 28, 28] of every cell of every particle's view, X and Y."""
    steps = torch.linspace(-1, 1, SIDE, dtype=poses.dtype)
    aside, ahead = REACH * steps, REACH * (1 - steps)[:, None]
    wide, tall = (width / height, height / width) if geometry == "released" else (1.0, 1.0)
    x, y, heading = (part[..., None, None] for part in poses.unbind(-1))
    cosine, sine = heading.cos(), heading.sin()
    return x - sine * aside + wide * cosine * ahead, y + tall * cosine * aside + sine * ahead


def local_maps(maps, poses, geometry):
    """Views [B, K, 28, 28] in network scale, +1 for walls; cells past the last whole pixel square are walls."""
    batch, height, width = maps.shape
    x, y = sampling_points(poses, height, width, geometry)
    inside = (x >= 0) & (x < width - 1) & (y >= 0) & (y < height - 1)
    left, top = x.detach().floor().clamp(0, width - 2), y.detach().floor().clamp(0, height - 2)
    first = (top.long() * width + left.long()).reshape(batch, -1)
    flat = maps.reshape(batch, -1)
    corner = lambda offset: torch.gather(flat, 1, first + offset).reshape(x.shape)
    right, below = x - left, y - top
    upper = corner(0) + right * (corner(1) - corner(0))
    lower = corner(width) + right * (corner(width + 1) - corner(width))
    free = upper + below * (lower - upper)
    return 1 - torch.where(inside, free, torch.zeros_like(free))


def conv(weights, name, images, dilation=1):
    kernel = weights[f"{name}.kernel"].permute(3, 2, 0, 1)
    padding = (kernel.shape[2] - 1) * dilation // 2
    return F.conv2d(images, kernel, weights[f"{name}.bias"], padding=padding, dilation=dilation)


def norm(weights, name, images):
    """TensorFlow's old layer norm: statistics over height, width and channels, scale and shift per channel."""
    return F.group_norm(images, 1, weights[f"{name}.gamma"], weights[f"{name}.beta"], 1e-12)


def halve(images):
    """SAME pooling of an even side: nothing before, one ignored row and column after."""
    return F.max_pool2d(images, 3, 2, ceil_mode=True)


def see_map(weights, views):
    """Views [N, 1, 28, 28] to features [N, 8, 14, 14]."""
    parts = [conv(weights, f"map.{name}", views, dilation) for name, dilation in MAP_CONVS]
    images = halve(F.relu(norm(weights, "map.LayerNorm", torch.cat(parts, 1))))
    parts = [conv(weights, f"map.l2_conv{size}", images) for size in (3, 5)]
    return F.relu(norm(weights, "map.LayerNorm_1", torch.cat(parts, 1)))


def see_picture(weights, images):
    """Pictures [M, C, 56, 56] to features [M, 16, 14, 14]; here pooling comes before the norm."""
    parts = [conv(weights, f"observation.{name}", images, dilation) for name, dilation in SEEN_CONVS]
    images = F.relu(norm(weights, "observation.LayerNorm", halve(torch.cat(parts, 1))))
    images = halve(conv(weights, "observation.l2_conv3", images))
    return F.relu(norm(weights, "observation.LayerNorm_1", images))


def locally_connected(images, kernel, size):
    """Images [14, 14, N, C] under a kernel [144, size * size, C, 8] of their own at every place: [144, N, 8].

    Patches are joined from shifted slices: places come first, so that one batched product does all of them. This
    was faster than unfold, whose patches must be turned over.
    """
    pad = (size - 3) // 2
    wide = F.pad(images, (0, 0, 0, 0, pad, pad, pad, pad)) if pad else images
    shifts = [(i, j) for i in range(size) for j in range(size)]
    patches = torch.cat([wide[i : i + 12, j : j + 12] for i, j in shifts], 3)
    return torch.bmm(patches.reshape(144, images.shape[2], -1), kernel.reshape(144, -1, 8))


def joint(weights, mapped, seen, split):
    """Log-likelihoods [M, K] of K views for each of M pictures.

    The layer is linear, so `split` adds the picture's share, worked out once, to each view's share.
    """
    pictures = seen.shape[0]
    count = mapped.shape[0] // pictures
    if not split:
        seen = seen[:, None].expand(-1, count, -1, -1, -1).reshape(-1, *seen.shape[1:])
        mapped = torch.cat([mapped, seen], 1)
    mapped, seen = (images.permute(2, 3, 0, 1).contiguous() for images in (mapped, seen))
    parts = []
    for size in (3, 5):
        kernel = weights[f"joint.l1_conv{size}.kernel"].reshape(144, size * size, 24, 8)
        bias = weights[f"joint.l1_conv{size}.bias"].reshape(144, 1, 8)
        if split:
            own = locally_connected(mapped, kernel[:, :, :8], size).reshape(144, pictures, count, 8)
            shared = locally_connected(seen, kernel[:, :, 8:], size) + bias
            parts.append(F.relu(own + shared[:, :, None]).reshape(144, -1, 8))
        else:
            parts.append(F.relu(locally_connected(mapped, kernel, size) + bias))
    both = torch.cat(parts, 2).permute(1, 2, 0).reshape(-1, 16, 12, 12)
    flat = F.max_pool2d(both, 3, 2).permute(0, 2, 3, 1).reshape(-1, 400)
    return (flat @ weights["joint.fc1.kernel"] + weights["joint.fc1.bias"]).reshape(pictures, count)


def move(poses, motion, noise, std):
    """Robot-frame motion after the heading's noise, place noise in the map frame; `std` is in pixels and radians."""
    heading = poses[..., 2] + std[1] * noise[..., 2]
    ahead, aside, turn = motion[:, None].unbind(-1)
    x = poses[..., 0] + heading.cos() * ahead - heading.sin() * aside + std[0] * noise[..., 0]
    y = poses[..., 1] + heading.sin() * ahead + heading.cos() * aside + std[0] * noise[..., 1]
    return torch.stack([x, y, heading + turn], -1)


def log_density(noise, std):
    """Log-density of the motion noise drawn; 0 where there is none."""
    if std[0] == 0 or std[1] == 0:
        return torch.zeros_like(noise[..., 0])
    return -0.5 * noise.square().sum(-1) - math.log(std[0] ** 2 * std[1]) - 1.5 * math.log(2 * math.pi)
