"""Settings every planner checks alike."""

from wmel.errors import require


def check_drawing(horizon: int, candidates: int, knots: int | None, iterations: int = 1) -> None:
    """Refuse a planner that would draw nothing."""
    require(horizon > 0, "the plan horizon must be positive", horizon)
    require(candidates > 0, "the number of candidates must be positive", candidates)
    require(iterations > 0, "the number of iterations must be positive", iterations)
    require(knots is None or knots >= 2 or knots == horizon, "at least two knots are needed", knots)
