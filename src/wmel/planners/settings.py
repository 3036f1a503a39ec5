"""Settings every planner checks alike."""

from wmel.errors import require, require_whole


def check_drawing(horizon: int, candidates: int, knots: int | None, iterations: int = 1) -> None:
    """Refuse a planner that would draw nothing."""
    require_whole(horizon, "the plan horizon")
    require_whole(candidates, "the number of candidates")
    require_whole(iterations, "the number of iterations")
    if knots is not None:
        require_whole(knots, "at least two knots are needed; their number", at_least=0)
        require(knots >= 2 or knots == horizon, "at least two knots are needed", knots)
