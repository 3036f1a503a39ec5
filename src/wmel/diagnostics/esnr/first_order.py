"""fog: gradients through the model itself (pathwise), all rows in one backward pass."""

import numpy as np
import torch

from wmel.arrays import namespace_of
from wmel.diagnostics.esnr.estimators import Gradients, is_flat
from wmel.diagnostics.esnr.problem import Question, flat, rows_of
from wmel.diagnostics.esnr.sampling import CategoricalActions, GaussianActions
from wmel.errors import BadInput, BadModel
from wmel.randomness import Streams


def first_order(
    asked: Question, draw: GaussianActions | CategoricalActions, streams: Streams, rows: slice, purpose: str
) -> Gradients:
    """Gradients of the return with respect to the mean of the actions."""
    settings, name = asked.settings, asked.model.spec.name
    if isinstance(draw, CategoricalActions):
        raise BadInput(f"actions are {draw.space.count} levels and have no derivative: use zog or cem")
    if namespace_of(asked.latents) is not torch:
        raise BadInput(f"{name} computes with numpy, which first-order gradients cannot go through: use zog or cem")
    count, samples = len(streams), settings.samples
    inner = flat(draw.around(draw.noise(streams, purpose, (samples,), asked.latents), rows), 2)
    place = rows_of(rows.start, rows.stop, samples)
    parts = [
        _backward(asked, draw, place[start : start + settings.rows], inner[start : start + settings.rows])
        for start in range(0, len(inner), settings.rows)
    ]
    gradients = torch.cat([part for part, _ in parts]).double().cpu().numpy()
    returns = torch.cat([part for _, part in parts]).double().cpu().numpy()
    return Gradients(
        gradients.reshape(count, samples, -1),
        is_flat(returns.reshape(count, samples)),
        count * samples * settings.plan_horizon,
        draw.out_of_range(inner),
    )


def _backward(
    asked: Question, draw: GaussianActions, place: np.ndarray, inner: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients [M,H,A] and returns [M]: rows do not know each other, so that of the sum holds each one's own."""
    with torch.inference_mode(False), torch.enable_grad():
        leaf = inner.clone().requires_grad_()
        try:
            returns = asked.foreseen(place, draw.executed(leaf)).rewards.sum(1)
        except BadModel as error:
            if "grad" not in str(error.__cause__):
                raise
            raise BadInput(f"{error}: it leaves torch on the way, so use zog or cem") from error
        if not isinstance(returns, torch.Tensor) or not returns.requires_grad:
            raise BadInput(
                f"torch finds no way from the return of {asked.model.spec.name} back to the actions (its functions are "
                "no torch operations, or do not depend on them): use zog or cem"
            )
        (gradient,) = torch.autograd.grad(returns.sum(), leaf)
    known = returns.detach().isfinite()
    return torch.where(known[:, None, None], gradient, torch.nan), returns.detach()
