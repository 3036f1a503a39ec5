"""The paper's own listing, for whoever wants that number."""

from collections.abc import Callable
from typing import Any

from wmel.diagnostics.esnr.signal import PAPER_EPSILON
from wmel.errors import BadInput


def compute_esnr(actions: Any, J: Callable[[Any], Any], grad_f: Callable[[Any, Any], Any]) -> Any:
    """Squared mean over variance of grad_f(J, actions) along axis 0 of torch actions [n,A], averaged over coordinates.

    Axis 0 must hold samples of ONE observation: rows of different observations put the spread between states into
    the noise, which is another quantity. Nothing is corrected for: without any signal n samples give about 1/n.
    """
    if getattr(actions, "ndim", 0) < 1 or len(actions) < 2:
        raise BadInput("compute_esnr needs at least two rows of actions: one gradient has no variance")
    gradients = grad_f(J, actions.detach().requires_grad_())
    noise = gradients.std(dim=0) ** 2
    return (gradients.mean(dim=0) ** 2 / (noise + PAPER_EPSILON)).mean()
