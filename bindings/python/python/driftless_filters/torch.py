"""For PyTorch: a likelihood network is trained through the filter.

    filtered = filter.run(observations, history=True)           # particles and ancestors, no gradients
    log_likelihoods = network(observations, particles)          # (T, N), with gradients
    log_weights, log_evidence = weigh(Trace(filtered), log_likelihoods)

Any loss of the weighted particles can follow. Poses and ancestors are constants; gradients go through weights over time, and
through resampling where that is soft.
"""

import torch

from ._driftless import Trace

__all__ = ["weigh"]


class _Weigh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, trace, log_likelihoods):
        ctx.trace, ctx.given = trace, log_likelihoods.detach()
        found = trace.forward(ctx.given.cpu().double().numpy())
        return tuple(torch.from_numpy(part).to(log_likelihoods) for part in found)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, by_log_weights, by_log_evidence):
        # Somebody may have gone forward with others since.
        ctx.trace.forward(ctx.given.cpu().double().numpy())
        parts = [part.detach().cpu().double().numpy() for part in (by_log_weights, by_log_evidence)]
        return None, torch.from_numpy(ctx.trace.backward(*parts)).to(ctx.given)


def weigh(trace: Trace, log_likelihoods: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalised log-weights (T, N) and log evidence (T,) of log-likelihoods (T, N), differentiable by them."""
    return _Weigh.apply(trace, log_likelihoods)
