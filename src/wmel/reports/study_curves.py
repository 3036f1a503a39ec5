"""Success and gap against whatever a study swept, as points to draw."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from wmel.contract.cell import FLOOR, ORACLE, label_text, label_value, swept_setting
from wmel.errors import is_number
from wmel.reports.analysis_record_types import ComparisonEntry, StudyRecord
from wmel.reports.cells import part_name

KEPT = ("epochs", "updates")  # labels of checkpoints, which names have behind an @
NOT_SHARED = ("model", "weights", "policy_reads", "planner", "objective", "plan_horizon", "evaluations")
NOT_COMPARED = ("seed", "seeds", "episodes", "metrics", "latency_threads", "versions")
KEEPS_EVALUATIONS = ("plan_horizon", "execute", "max_steps", "perturbation_probability")


class Point(NamedTuple):
    """Where a label stands, and a number with its interval there."""

    at: float | str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """The curves over one label: points by arm, and by model."""

    label: str
    where: str  # what does not move
    success: Mapping[str, Sequence[Point]]
    gap: Mapping[str, Sequence[Point]]

    @property
    def values(self) -> list[Any]:
        """Where the label stands."""
        return axis_values(point.at for points in self.success.values() for point in points)


def axis_values(places: Iterable[float | str]) -> list[Any]:
    """Numbers in rising order; words as they come."""
    found = list(dict.fromkeys(places))
    return found if any(isinstance(place, str) for place in found) else sorted(found, key=float)


def axis_places(values: Sequence[Any]) -> list[float | str]:
    """Values of a label as places on one axis: numbers where all of them are, else words."""
    if all(is_number(value) and math.isfinite(value) for value in values):
        return [float(value) for value in values]
    return [label_text(value) for value in values]


def study_curves(record: StudyRecord) -> list[Curve]:
    """One for each label and each set of comparisons, or of models of one comparison, which otherwise agree."""
    compared = [*record.comparisons, *record.uncompared]
    curves = [*_curves_of_settings(compared), *_curves_of_models(compared)]
    return [curve for curve in curves if len(curve.values) > 1]


def _curves_of_settings(comparisons: Sequence[ComparisonEntry]) -> Iterator[Curve]:
    for label in dict.fromkeys(label for one in comparisons for label in one.labels):
        for group in _agreeing([one for one in comparisons if label in one.labels], label):
            places = axis_places([one.labels[label] for one in group])
            success: dict[str, list[Point]] = {}
            gap: dict[str, list[Point]] = {}
            for at, one in _in_order(places, group):
                for arm in one.scorecards:
                    success.setdefault(arm, []).extend(_success(one, arm, at))
                for model in one.gaps:
                    gap.setdefault(model, []).append(_gap(one, model, at))
            yield Curve(label, _words(group[-1], label), success, gap)


def _curves_of_models(comparisons: Sequence[ComparisonEntry]) -> Iterator[Curve]:
    for one in comparisons:
        for label in dict.fromkeys(label for labels in one.arm_labels.values() for label in labels):
            arms = [arm for arm in one.scorecards if label in one.arm_labels.get(arm, {})]
            places = axis_places([one.arm_labels[arm][label] for arm in arms])
            success = {name: [] for name in (ORACLE, *(_line(one, arm, label) for arm in arms), FLOOR)}
            gap = {_line(one, arm, label): [] for arm in arms}
            for at, arm in _in_order(places, arms):
                success[_line(one, arm, label)] += _success(one, arm, at)
                gap[_line(one, arm, label)] += [_gap(one, arm, at)] if arm in one.gaps else []
            for flat in (ORACLE, FLOOR):
                success[flat] = [point for at in axis_values(places) for point in _success(one, flat, at)]
            if any(len(points) > 1 for arm, points in success.items() if arm not in (ORACLE, FLOOR)):
                yield Curve(label, one.name, {arm: points for arm, points in success.items() if points}, gap)


def _in_order(places: Sequence[float | str], those: Sequence[Any]) -> list[tuple[float | str, Any]]:
    """Pairs of a place and what stands there, numbers rising."""
    pairs = list(zip(places, those, strict=True))
    return pairs if any(isinstance(place, str) for place in places) else sorted(pairs, key=lambda pair: pair[0])


def _agreeing(comparisons: list[ComparisonEntry], label: str) -> Iterator[list[ComparisonEntry]]:
    """Comparisons that differ in the label alone; one that nothing strikes belongs to every perturbation."""
    groups: dict[tuple[str, str], list[ComparisonEntry]] = {}
    for one in comparisons:
        groups.setdefault(_constant_part(one, label), []).append(one)
    for (rest, struck), group in groups.items():
        if struck or not any(other and rest == same for same, other in groups):
            yield [*(groups.get((rest, ""), []) if struck else []), *group]


def _constant_part(one: ComparisonEntry, label: str) -> tuple[str, str]:
    """All of a setting that does not move with a label, and what strikes; no words where nothing does."""
    if one.parts is None:
        return _constant_setting(one, label)
    kind, key = swept_setting(label, one.parts, one.sweeps)
    parts = {
        name: {k: v for k, v in part.items() if k != key} if name == kind and isinstance(part, dict) else part
        for name, part in one.parts.items()
    }
    struck = parts.pop("perturbation")
    if kind != "perturbation":
        return _text([parts, struck]), ""
    return _text(parts), "" if struck is None else _text(struck)


def _constant_setting(one: ComparisonEntry, label: str) -> tuple[str, str]:
    """The same of a record of an earlier version, which holds no parts but what they came to."""
    struck = label.startswith("perturbation_")
    moves = {label, label.removeprefix("criterion_"), *(("perturbation", "perturb_prob") if struck else ())}
    moves |= {"max_steps": {"horizon"}, "action_repeat": {"env", "horizon"}}.get(label, set())
    setting = one.setting.model_dump()
    constant = {name: value for name, value in setting.items() if name not in (*NOT_SHARED, *NOT_COMPARED, *moves)}
    parts = [
        {key: value for key, value in part.items() if key != label} if isinstance(part, dict) else part
        for part in (setting["planner"], setting["objective"])
    ]
    is_2_0 = not isinstance(setting["planner"], dict)  # a record of that version
    is_implicit = is_2_0 and label in KEEPS_EVALUATIONS
    others = {name: value for name, value in one.labels.items() if name != label}
    rest = _text([constant, parts, setting["evaluations"] if is_implicit else None, others])
    return rest, (setting["perturbation"] or "") if struck else ""


def _text(data: Any) -> str:
    return json.dumps(data, sort_keys=True, default=str)


def _success(one: ComparisonEntry, arm: str, at: float | str) -> list[Point]:
    """The arm's success, where it is defined."""
    known = one.scorecards[arm].estimates.get("success_rate") if arm in one.scorecards else None
    if known is None or known.value is None:
        return []
    low, high = (known.value if bound is None else bound for bound in (known.low, known.high))
    return [Point(at, known.value, low, high)]


def _gap(one: ComparisonEntry, model: str, at: float | str) -> Point:
    entry = one.gaps[model]
    return Point(at, entry.gap, max(entry.gap_ci_low, -1), min(entry.gap_ci_high, 1))


def _line(one: ComparisonEntry, arm: str, label: str) -> str:
    """What the arms of one line share: the model's name and its other labels."""
    labels = one.arm_labels[arm]
    base = one.bases.get(arm) or _earlier_base(arm, labels)
    others = {name: value for name, value in labels.items() if name != label}
    return ", ".join([base, *(f"{name}={label_value(value)}" for name, value in others.items())])


def _earlier_base(arm: str, labels: Mapping[str, Any]) -> str:
    """The model's name in a record of an earlier version: the arm's without the ending that its labels make."""
    for label in KEPT:
        arm = arm.removesuffix(f"@{labels[label]}") if label in labels else arm
    swept = {label: value for label, value in labels.items() if label not in KEPT}
    for without in ((), ("policy",)):  # a policy of its own is a label, whether it was swept or not
        named = ",".join(f"{label}={value}" for label, value in swept.items() if label not in without)
        arm = arm.removesuffix(f"[{named}]")
    return arm


def _words(one: ComparisonEntry, label: str) -> str:
    """What does not move."""
    setting, others = one.setting, {name: value for name, value in one.labels.items() if name != label}
    named = [setting.env, part_name(setting.planner or setting.policy), setting.perturbation, setting.success]
    named += [] if setting.objective is None else [part_name(setting.objective)]
    if one.parts is not None:
        kind, _ = swept_setting(label, one.parts, one.sweeps)
        parts = (one.parts[name] for name in ("environment", "planner", "perturbation", "objective"))
        named = [*(part["name"] for part in parts if part), *([] if kind == "criterion" else [setting.success])]
    return ", ".join([name for name in named if name] + [f"{key} = {value}" for key, value in others.items()])
