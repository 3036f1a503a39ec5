"""The scorecard: what a deployment asks of a policy, one estimate per metric of the catalogue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wmel import catalog
from wmel.errors import BadInput, described
from wmel.schema import EpisodeTable
from wmel.stats.estimate import Estimate


@dataclass(frozen=True)
class Scorecard:
    """Every metric's estimate; the undefined ones say why."""

    policy_name: str
    episodes: int
    estimates: Mapping[str, Estimate]

    def __getitem__(self, metric: str) -> Estimate:
        return self.estimates[metric]


def scorecard(policy_name: str, table: EpisodeTable, extra: Sequence[str] = ()) -> Scorecard:
    """Every metric of the catalogue that needs no number, and those asked for, such as success@20 or deadline@5."""
    plain = [name for name in catalog.METRICS.parts if not name.endswith("@")]
    for name in extra:
        catalog.metric(name)
    return Scorecard(policy_name, len(table), {name: asked(name, table) for name in (*plain, *extra)})


def asked(name: str, table: EpisodeTable) -> Estimate:
    """The estimate of a metric; one of a plugin that cannot be had is undefined with the reason, not fatal."""
    try:
        found = catalog.metric(name)(table)
    except BadInput as error:
        return Estimate.undefined(str(error))
    except Exception as error:
        if name in catalog.METRICS.built_in or "@" in name:
            raise
        return Estimate.undefined(f"the metric broke: {described(error)}")
    if not isinstance(found, Estimate):
        return Estimate.undefined(f"the metric returned a {type(found).__name__}, not an Estimate")
    return found
