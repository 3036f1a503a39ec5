"""Success and gap against whatever number a study swept, as points to draw."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from wmel.contract.cell import FLOOR, ORACLE
from wmel.errors import is_number
from wmel.reports.study_envelope import ComparisonEntry, StudyRecord
from wmel.reports.words import part_name

SHARED = ("env", "layout", "init", "policy", "success", "stop", "execute", "horizon", "perturb_prob", "perturbation")
PARTS = ("planner", "objective")  # as {name, **settings}: a swept setting is left out of what must agree
KEEPS_EVALUATIONS = ("plan_horizon", "execute", "max_steps", "perturbation_probability")
MOVES = {  # a label that moves something of another name
    "max_steps": ("horizon",),
    "action_repeat": ("env", "horizon"),
    "criterion_success": ("success",),
    "criterion_stop": ("stop",),
}


class Point(NamedTuple):
    """Where a label stands, and a number with its interval there."""

    at: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """All that is drawn against one label: points by arm, and by model."""

    label: str
    where: str  # what does not move
    success: Mapping[str, Sequence[Point]]
    gap: Mapping[str, Sequence[Point]]

    @property
    def values(self) -> list[float]:
        """Where the label stands."""
        return sorted({point.at for points in self.success.values() for point in points})


def study_curves(record: StudyRecord) -> list[Curve]:
    """One for each label and each set of comparisons, or of models of one comparison, which otherwise agree."""
    drawn = [*_of_settings(record.comparisons), *_of_models(record.comparisons)]
    return [curve for curve in drawn if len(curve.values) > 1]


def _of_settings(comparisons: Sequence[ComparisonEntry]) -> Iterator[Curve]:
    for label in dict.fromkeys(label for one in comparisons for label in one.labels):
        for group in _agreeing([one for one in comparisons if _is_numeric(one.labels, label)], label):
            places = sorted(((float(one.labels[label]), one) for one in group), key=lambda place: place[0])
            success: dict[str, list[Point]] = {}
            gap: dict[str, list[Point]] = {}
            for at, one in places:
                for arm in one.scorecards:
                    success.setdefault(arm, []).extend(_success(one, arm, at))
                for model in one.gaps:
                    gap.setdefault(model, []).append(_gap(one, model, at))
            yield Curve(label, _words(group[-1], label), success, gap)


def _of_models(comparisons: Sequence[ComparisonEntry]) -> Iterator[Curve]:
    for one in comparisons:
        swept = one.arm_labels
        for label in dict.fromkeys(label for labels in swept.values() for label in labels):
            arms = [arm for arm in one.scorecards if _is_numeric(swept.get(arm, {}), label)]
            arms.sort(key=lambda arm, label=label: swept[arm][label])
            places = [float(swept[arm][label]) for arm in arms]
            success = {arm: [] for arm in (ORACLE, *(_family(one, arm, label) for arm in arms), FLOOR)}
            gap = {_family(one, arm, label): [] for arm in arms}
            for arm, at in zip(arms, places, strict=True):
                success[_family(one, arm, label)] += _success(one, arm, at)
                gap[_family(one, arm, label)] += [_gap(one, arm, at)] if arm in one.gaps else []
            for flat in (ORACLE, FLOOR):
                success[flat] = [point for at in dict.fromkeys(places) for point in _success(one, flat, at)]
            if places:
                yield Curve(label, one.name, {arm: points for arm, points in success.items() if points}, gap)


def _agreeing(comparisons: list[ComparisonEntry], label: str) -> Iterator[list[ComparisonEntry]]:
    """Comparisons that differ in the label alone; one that nothing strikes belongs to every perturbation."""
    groups: dict[str, list[ComparisonEntry]] = {}
    for one in comparisons:
        fixed = _fixed(one, label)
        others = {name: value for name, value in one.labels.items() if name != label}
        groups.setdefault(json.dumps([fixed, others], sort_keys=True, default=str), []).append(one)
    for group in groups.values():
        named = dict.fromkeys(one.setting.perturbation for one in group if one.setting.perturbation is not None)
        apart = label == "perturbation_probability" and len(named) > 1
        for name in named if apart else [None]:
            yield [one for one in group if not apart or one.setting.perturbation in (name, None)]


def _fixed(one: ComparisonEntry, label: str) -> list[Any]:
    """All of a setting that does not move with a label."""
    struck = ("perturb_prob", "perturbation") if label.startswith("perturbation_") else ()
    moves = (label, *struck, *MOVES.get(label, ()))
    parts = [getattr(one.setting, name) for name in PARTS]
    still = [
        {key: value for key, value in part.items() if key != label} if isinstance(part, dict) else part
        for part in parts
    ]
    untold = not isinstance(one.setting.planner, dict) and label in KEEPS_EVALUATIONS  # as in records of version 2.0
    evaluations = one.setting.evaluations if untold else None
    return [*(getattr(one.setting, name) for name in SHARED if name not in moves), *still, evaluations]


def _success(one: ComparisonEntry, arm: str, at: float) -> list[Point]:
    """The arm's success, where it is defined."""
    known = one.scorecards[arm].estimates.get("success_rate") if arm in one.scorecards else None
    if known is None or known.value is None:
        return []
    low, high = (known.value if bound is None else bound for bound in (known.low, known.high))
    return [Point(at, known.value, low, high)]


def _gap(one: ComparisonEntry, model: str, at: float) -> Point:
    entry = one.gaps[model]
    return Point(at, entry.gap, max(entry.gap_ci_low, -1), min(entry.gap_ci_high, 1))


def _family(one: ComparisonEntry, arm: str, label: str) -> str:
    """What the arms of one line share: the model's name and its other labels."""
    others = {name: value for name, value in one.arm_labels[arm].items() if name != label}
    name = re.sub(r"(\[[^\[\]]*\])?(@\d+)?$", "", arm)
    return ", ".join([name, *(f"{key}={value}" for key, value in others.items())])


def _words(one: ComparisonEntry, label: str) -> str:
    """What does not move."""
    said, others = one.setting, {name: value for name, value in one.labels.items() if name != label}
    named = [said.env, part_name(said.planner or said.policy), said.perturbation, said.success]
    named += [] if said.objective is None else [part_name(said.objective)]
    return ", ".join([name for name in named if name] + [f"{key} = {value}" for key, value in others.items()])


def _is_numeric(labels: Mapping[str, Any], label: str) -> bool:
    value: Any = labels.get(label)
    return is_number(value) and math.isfinite(value)
