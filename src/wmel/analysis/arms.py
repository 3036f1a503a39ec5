"""A comparison of models: the oracle's arm, the models' arms and the floor, and what their gaps are called."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from wmel.analysis.coverage import Coverage
from wmel.analysis.cpg import CPGResult, counterfactual_planning_gap
from wmel.analysis.labels import Verdict
from wmel.analysis.verdict import cpg_verdict
from wmel.contract.run import PLANNING, Run
from wmel.stats.difference import paired_t
from wmel.stats.estimate import Estimate


@dataclass(frozen=True, eq=False)
class Arms:
    """Runs of one planner on the same seeds, by the name of the model; `floor` acts at random."""

    oracle: Run
    learned: Mapping[str, Run]
    floor: Run | None  # None: none was run
    coverage: Mapping[str, Coverage | None]  # of each arm and of each model's training data
    cap: int | None = None  # the most pairs of a run that may stop early; None: it could not
    own_policies: frozenset[str] = frozenset()  # models that act by themselves instead of by the oracle's planner

    @property
    def by_name(self) -> dict[str, Run]:
        floor = {} if self.floor is None else {"random": self.floor}
        return {"oracle": self.oracle, **self.learned, **floor}

    def gap(self, model: str) -> CPGResult:
        """On the episodes the model ran; where runs stop early each model has its own number."""
        oracle, learned = self.oracle_beside(model), self.learned[model]
        return counterfactual_planning_gap(oracle, learned, apart_from=self.may_differ(model))

    def may_differ(self, model: str) -> tuple[str, ...]:
        """Settings in which a model's arm need not be as the oracle's."""
        return PLANNING if model in self.own_policies else ()

    def oracle_beside(self, model: str) -> Run:
        """The oracle's arm on a model's episodes."""
        learned = self.learned[model]
        table = self.oracle.table.of_seeds(learned.table["episode_seed"])
        return replace(self.oracle, seeds=learned.seeds, table=table)

    def verdict(self, model: str) -> Verdict:
        """By the strict rule, or by the anytime rule where the run could stop early."""
        if self.cap is not None:
            return cpg_verdict(self.gap(model), "anytime", cap=self.cap)
        return cpg_verdict(self.gap(model))

    def return_gap(self, model: str) -> Estimate:
        """Mean return of the oracle less that of the model, on pairs of whole episodes."""
        one, other = (run.table["return"] for run in (self.oracle_beside(model), self.learned[model]))
        whole = ~(np.isnan(one) | np.isnan(other))
        if whole.sum() < 2:
            return Estimate.undefined("fewer than two pairs of whole episodes: returns need stop = horizon")
        return paired_t(one[whole], other[whole])
