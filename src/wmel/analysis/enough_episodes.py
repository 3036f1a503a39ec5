"""How many episodes an inconclusive verdict lacks."""

from dataclasses import replace

from wmel.analysis.labels import Label, Verdict
from wmel.stats.power import LARGEST, Design, required_episodes

IF_AS_SEEN = "with 80% probability if the rates are as seen"


def with_enough_episodes(verdict: Verdict, designs: list[Design], otherwise: str) -> Verdict:
    """An inconclusive verdict with the n per arm at which one of the designs decides, or with what else to do."""
    if verdict.label is not Label.INCONCLUSIVE:
        return verdict
    n = required_episodes(*designs) if designs else None
    advice = f"about {n} episodes per arm would decide {IF_AS_SEEN}"
    if n is None:
        advice = f"no n decides: none up to {LARGEST} does {IF_AS_SEEN}; {otherwise}"
    return replace(verdict, reason=f"{verdict.reason}; {advice}", n_that_decides=n)
