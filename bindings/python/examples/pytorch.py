"""A likelihood network, trained in PyTorch through the filter, with few known states. Needs torch.

    python examples/pytorch.py

A robot on a line from 0 to 1 sees eight numbers, a random function of where it is that nobody knows. The network learns to
score a place by them, from one known state in ten and from what makes the observations probable.
"""

import sys

import numpy as np

import driftless_filters as df

try:
    import torch
except ImportError:
    print("SKIPPED: the example of PyTorch needs torch")
    sys.exit(0)
from driftless_filters.torch import weigh

PARTICLES, STEPS, EPISODES = 100, 20, 24
rng = np.random.default_rng(1)
PHASES = rng.uniform(0, 2 * np.pi, 8)


def drive():
    x, states, seen, actions = rng.uniform(), [], [], []
    for t in range(STEPS):
        action = rng.uniform(-0.1, 0.1) * (t > 0)
        moved = float(np.clip(x + action, 0, 1))
        states.append(moved)
        actions.append(moved - x)
        x = moved
        seen.append(np.sin(np.linspace(2, 9, 8) * x + PHASES) + 0.1 * rng.normal(size=8))
    return np.array(states), np.array(seen, dtype=np.float32), actions


class Scores(torch.nn.Module):
    """log l of places (T, N) by observations (T, 8)."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(9, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))

    def forward(self, seen, places):
        wide = seen[:, None].expand(-1, places.shape[1], -1)
        return self.layers(torch.cat([wide, 4 * places[..., None] - 2], dim=2))[..., 0]


def filtered(network, episode, seed):
    """The filter with the network's likelihood; no gradients here."""
    _, seen, actions = episode

    def likelihood(particles, observation):
        with torch.no_grad():
            return network(torch.from_numpy(observation[None]), torch.from_numpy(particles[None]))[0].numpy()

    motion = lambda particles, action, noise: particles + action + 0.02 * noise
    initial = np.random.default_rng(seed).uniform(size=PARTICLES)
    soft = df.SoftResampling(0.5)
    return df.ParticleFilter(motion, likelihood, soft, initial=initial, seed=seed).run(seen, actions, history=True)


def loss(network, episode, series, known):
    """Squared errors of the mean where states are known."""
    particles = torch.from_numpy(series.particles)
    log_weights, _ = weigh(df.Trace(series), network(torch.from_numpy(episode[1]), particles))
    means = (log_weights.exp() * particles).sum(dim=1)
    return ((means - torch.from_numpy(episode[0]).float())[known] ** 2).sum()


def check_gradient(network, episode, known):
    """Along a random direction of all weights, against differences with the particles held."""
    series = filtered(network, episode, 0)
    network.zero_grad()
    loss(network, episode, series, known).backward()
    directions = [torch.randn_like(p) for p in network.parameters()]
    slope = sum((p.grad * d).sum() for p, d in zip(network.parameters(), directions)).item()
    sides = []
    for step in (1e-3, -2e-3):
        with torch.no_grad():
            for p, d in zip(network.parameters(), directions):
                p += step * d
        sides.append(loss(network, episode, series, known).item())
    with torch.no_grad():
        for p, d in zip(network.parameters(), directions):
            p += 1e-3 * d
    difference = (sides[0] - sides[1]) / 2e-3
    print(f"gradient along a direction {slope:.5f}, by differences {difference:.5f}")
    # Squares of the step and 32 bits of the loss.
    assert abs(slope - difference) < 0.02 * abs(slope) + 1e-3


def error(network, episodes):
    runs = [filtered(network, episode, 77).mean for episode in episodes]
    return np.sqrt(np.mean([(run - episode[0])[5:] ** 2 for run, episode in zip(runs, episodes)]))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)  # networks this small only wait for threads
    network, episodes, others = Scores(), [drive() for _ in range(EPISODES)], [drive() for _ in range(10)]
    known = np.arange(STEPS) % 10 == 9
    check_gradient(network, episodes[0], known)
    optimiser, before = torch.optim.Adam(network.parameters(), lr=5e-3), error(network, others)
    for epoch in range(6):
        for number, episode in enumerate(episodes):
            optimiser.zero_grad()
            loss(network, episode, filtered(network, episode, epoch * EPISODES + number), known).backward()
            optimiser.step()
    after = error(network, others)
    print(f"RMSE on other episodes: {before:.3f} before, {after:.3f} after training")
    assert after < 0.6 * before


if __name__ == "__main__":
    main()
