"""The report of ESNR readings."""

from collections.abc import Sequence
from functools import partial

from wmel.contract.cell import ORACLE
from wmel.reports.analysis_record_types import EsnrEntry, EsnrRecord
from wmel.reports.cells import listed_words, part_words, short, stamp_words, undefined, with_interval
from wmel.reports.document import Document, Figure, Points, Section, Table, TableCell, TableColumn, Text, draw_figure
from wmel.reports.record_types import EstimateEntry

FEW_SAMPLES = 32
DOMINANT = 0.25  # share of the mean ESNR by one state
LISTED = 4  # more readings than this are counted, not named
LARGE_BIAS = 0.1  # share of the value
MUCH = 0.01  # shares below this are not worth a sentence
NAMES = {
    "fog": "first-order gradients (fog)",
    "zog": "zeroth-order gradients (zog)",
    "cem": "elite means (cem)",
    "fog(fd)": "first-order gradients (by differences)",
}


def esnr_document(record: EsnrRecord) -> Document:
    """The whole report."""
    aligned = any(one.alignment is not None for one in record.readings)
    known = any(one.esnr_per_rollout.value is not None for one in record.readings)
    ratios = [_figure("ratios", "Signal per imagined rollout", record)] if known else []
    pointed = [_figure("alignments", "Alignment with the true gradients", record)] if aligned else []
    scattered = [_figure("states", "Every state", record)] if aligned and known else []
    sections = [
        Section("Signal for its noise", [esnr_table(record), *ratios]),
        Section("What the readings show", [Points.of(esnr_sentences(record))]),
        Section("Where gradients point", pointed),
        Section("State by state", scattered),
        Section("Differences between models", [difference_table(record)]),
    ]
    shared = [Text(describe_readings(record), True)]
    title = f"ESNR in {record.environment}"
    return Document(title, esnr_answer(record), shared, sections, stamp_words(record))


def esnr_answer(record: EsnrRecord) -> str:
    """Which gradients through the models carry the most signal and where they point; the oracle's where it is alone."""
    rows = [one for one in record.readings if one.model != ORACLE] or record.readings
    measured = [one for one in rows if one.esnr_per_rollout.low is not None]
    shown = [one for one in measured if (one.esnr_per_rollout.low or 0) > 0]
    if not measured:
        reasons = listed_words(list(dict.fromkeys(map(_why_no_interval, rows))), LISTED)
        return f"Cannot tell whether gradients carry any signal: no reading has an interval ({reasons})."
    if not shown:
        return "No estimator is shown to carry any signal through these models: no interval lies above 0."
    doubtful = [one for one in rows if _doubt(one) and (one in shown or one not in measured)]
    doubted = [(f"{one.method} through {one.model}", _doubt(one)) for one in doubtful]
    trusted = [one for one in shown if not _doubt(one)]
    if not trusted:
        reasons = "; ".join(f"{name}: {doubt}" for name, doubt in doubted[:LISTED])
        return f"Cannot tell which gradients carry a signal: {reasons}; {_remedies(shown)} would show it."
    best = max(trusted, key=lambda one: one.esnr_per_rollout.value or 0)
    others = [one for one in measured if one is not best and not _doubt(one)]
    close = [f"{one.method} through {one.model}" for one in others if _overlaps(one, best)]
    rank = "the most signal" if others and not close and not doubted else "a signal"
    found = f"{rank} (ESNR {with_interval(best.esnr_per_rollout).text} per imagined rollout)"
    equals = f", not told apart from {listed_words(close, LISTED)}" if close else ""
    points = next(iter(_direction_words(best)), "whether its gradients point the right way was not measured")
    unranked = (
        f"; not ranked: {listed_words([f'{name} ({doubt})' for name, doubt in doubted], LISTED)}" if doubted else ""
    )
    return f"{best.method} through {best.model} carries {found}{equals}; {points}{unranked}."


def _doubt(one: EsnrEntry) -> str:
    """Why a mean ESNR cannot be relied on; nothing where it can."""
    if one.esnr_per_rollout.low is None:
        return _why_no_interval(one)
    if _has_few_samples(one):
        return f"{one.settings['samples']} gradients a state are too few"
    if _is_dominated(one):
        return f"one state makes up {one.dominance:.0%} of its mean, the median is {short(one.median)}"
    return ""


def _why_no_interval(one: EsnrEntry) -> str:
    """The reason in the record; records of earlier versions had none, and lacked episodes."""
    return one.esnr_per_rollout.reason or "an interval needs more episodes"


def _remedies(rows: Sequence[EsnrEntry]) -> str:
    few = [f"{FEW_SAMPLES} samples"] if any(map(_has_few_samples, rows)) else []
    return listed_words([*few, *(["more states"] if any(map(_is_dominated, rows)) else [])])


def _has_few_samples(one: EsnrEntry) -> bool:
    """Whether the bias of skewed gradients cannot be corrected."""
    return one.method == "zog" and int(one.settings["samples"]) < FEW_SAMPLES


def _is_dominated(one: EsnrEntry) -> bool:
    """Whether one of several states makes up much of the mean."""
    is_large = one.dominance is not None and one.dominance > DOMINANT
    return is_large and len(one.per_state) > 4 and (one.esnr.low or 0) > 0


def _overlaps(one: EsnrEntry, best: EsnrEntry) -> bool:
    """Whether the intervals of two ratios do not tell them apart."""
    return (one.esnr_per_rollout.high or 0) >= (best.esnr_per_rollout.low or 0)


def _figure(name: str, title: str, record: EsnrRecord) -> Figure:
    return Figure(name, title, partial(draw_figure, f"esnr_figures:{name}", record))


def esnr_table(record: EsnrRecord) -> Table:
    """One row per model and estimator."""
    titles = (
        "ESNR",
        "bias",
        "per rollout",
        "pooled",
        "median",
        "alignment",
        "against",
        "dead",
        "model steps",
        "seconds",
    )
    columns = (
        TableColumn("model", False),
        TableColumn("method", False),
        *(TableColumn(title, is_detail=title in ("pooled", "median", "dead", "seconds")) for title in titles),
    )
    return Table(f"ESNR in {record.environment}", columns, tuple(map(_row, record.readings)), names=2)


def difference_table(record: EsnrRecord) -> Table:
    """One row per pair of models and estimator."""
    columns = (TableColumn("models", False), TableColumn("method", False), TableColumn("difference of ESNR"))
    rows = tuple(
        (TableCell(f"{one.model} - {one.other}"), TableCell(one.method), with_interval(one.estimate))
        for one in record.differences
    )
    return Table("Differences at the same states and noise", columns, rows, names=2)


def esnr_sentences(record: EsnrRecord) -> list[str]:
    """What the readings show, and their limits."""
    models = list(dict.fromkeys(one.model for one in record.readings))
    sentences = [sentence for model in models for sentence in _of_model(record, model)]
    for one in record.differences:
        sentences += _difference_words(one.model, one.other, one.method, one.estimate)
    return [*sentences, *_caveats(record.readings)]


def describe_readings(record: EsnrRecord) -> str:
    """The states, the objective and the mean action at which the models were read."""
    settings = record.readings[0].settings
    spread = f", {settings['actions']} actions, sigma {settings['sigma']:g}" if "sigma" in settings else ""
    steps = settings.get("plan_horizon", settings.get("horizon"))  # its name until schema 2.1
    sampling = f"{settings['samples']} gradients each over {steps} steps{spread}"
    return f"{record.source}; objective {part_words(record.objective)}; {sampling}"


def _of_model(record: EsnrRecord, model: str) -> list[str]:
    rows = [one for one in record.readings if one.model == model]
    sentences = [f"{model}: {_usable_words(rows)}"] if len(rows) > 1 else []
    for one in rows:
        sentences += [f"{model}, {one.method}: {words}" for words in (*_direction_words(one), *_warnings(one))]
    return sentences


def _usable_words(rows: Sequence[EsnrEntry]) -> str:
    """Which estimator has the most signal per imagined rollout, if the intervals tell."""
    known = [one for one in rows if one.esnr_per_rollout.value is not None]
    if not known:
        return "no estimator has a ratio"
    ranked = sorted(known, key=lambda one: -(one.esnr_per_rollout.value or 0))
    numbers = ", ".join(f"{one.method} {short(one.esnr_per_rollout.value)}" for one in ranked)
    without = [one.method for one in ranked if one.esnr_per_rollout.low is None]
    if without:
        return f"signal per imagined rollout, without an interval for {listed_words(without)}: {numbers}"
    shown = [one for one in ranked if (one.esnr_per_rollout.low or 0) > 0]
    if not shown:
        return f"no estimator is shown to have any signal: no interval lies above 0 ({numbers} per rollout)"
    if len(ranked) == 1:
        return f"only {ranked[0].method} has a ratio ({numbers} per rollout)"
    first, *others = ranked
    close = [one for one in others if _overlaps(one, first)]
    if not close:
        return f"{_name(first)} carry the most usable signal per imagined rollout ({numbers})"
    names = ", ".join(one.method for one in close)
    return f"{first.method} is not told apart from {names} in signal per imagined rollout ({numbers})"


def _direction_words(one: EsnrEntry) -> list[str]:
    if one.alignment is None:
        return []
    cosine, against = one.alignment.cosine, one.alignment.against_share
    if cosine.value is None:
        return [f"where its gradients point is unknown ({cosine.reason})"]
    if cosine.low is None or cosine.high is None:
        direction = "too few episodes to say where its gradients point"
    elif cosine.high < 0:
        direction = "its gradients point against the truth"
    elif cosine.low <= 0:
        direction = "its gradients are not shown to point the way of the truth"
    else:
        direction = "its gradients point the way of the truth on average"
    words = f"{direction} (cosine {with_interval(cosine).text})"
    return [words + (f", and against it at {against:.0%} of the resolved states" if against else "")]


def _warnings(one: EsnrEntry) -> list[str]:
    sentences = []
    if one.esnr.value is None:
        sentences.append(f"no ESNR: {one.esnr.reason}")
    elif one.esnr.low is None:
        sentences.append(f"no interval of its ESNR: {_why_no_interval(one)}")
    sentences += _bias_words(one)
    if _has_few_samples(one):
        sentences.append(f"{one.settings['samples']} gradients a state: too few to correct the bias of skewed ones")
    if _is_dominated(one):
        sentences.append(
            f"one state makes up {one.dominance:.0%} of its mean ESNR: go by the median ({short(one.median)}) or the "
            f"pooled ratio ({short(one.pooled.value)})"
        )
    if one.dead_share >= MUCH:
        sentences.append(f"{one.dead_share:.0%} of the coordinates never have a gradient (dead) and are left out")
    if one.infinite_share >= MUCH:
        sentences.append(f"{one.infinite_share:.0%} of the coordinates have a gradient without noise and are left out")
    if one.broken_share > 0:
        sentences.append(f"{one.broken_share:.2%} of the gradients are NaN or infinite and are left out")
    if one.flat_share >= MUCH:
        sentences.append(f"at {one.flat_share:.0%} of the states every action sequence has the same return")
    if one.alignment is not None and one.alignment.unresolved_share >= MUCH:
        sentences.append(f"at {one.alignment.unresolved_share:.0%} of the states the true direction is not resolved")
    if one.out_of_range_share >= 0.1:
        sentences.append(f"{one.out_of_range_share:.0%} of the sampled actions lie beyond the action range")
    return sentences


def _bias_words(one: EsnrEntry) -> list[str]:
    """The bias where it is shown and not small beside the value."""
    if one.bias is None or one.bias.value is None or one.bias.low is None or one.bias.high is None:
        return []
    is_shown = one.bias.low > 0 or one.bias.high < 0
    if not is_shown or one.esnr.value is None or abs(one.bias.value) < LARGE_BIAS * abs(one.esnr.value):
        return []
    side = "above" if one.bias.value > 0 else "below"
    samples, far = one.settings["samples"], short(abs(one.bias.value))
    return [f"ESNR of {samples} samples lies {far} {side} that of infinitely many, as far as these samples show"]


def _difference_words(model: str, other: str, method: str, estimate: EstimateEntry) -> list[str]:
    if estimate.low is None or estimate.high is None:
        return []
    if estimate.low <= 0 <= estimate.high:
        return [f"{model} and {other}, {method}: their ESNR are not told apart at these states"]
    more = model if estimate.low > 0 else other
    return [f"{model} and {other}, {method}: the gradients of {more} carry more signal, which need not be truer"]


def _caveats(rows: Sequence[EsnrEntry]) -> list[str]:
    sentences = []
    methods = {one.method for one in rows}
    if len(methods) > 1:
        sentences.append(
            "Not comparable: ESNR of different estimators are different quantities; rank them per rollout only"
            + (", for one cem gradient takes a whole population" if "cem" in methods else "")
            + "."
        )
    sentences.append(
        "Not comparable: ESNR of other tasks, objectives, horizons, sigmas or action units; a smooth wrong model can "
        "exceed the truth."
    )
    if any(one.alignment is not None for one in rows):
        sentences.append(
            "ESNR does not see whether gradients are wrong, alignment does. The truth is the slope of the return "
            "(fog(fd)): where the return jumps it sees what is between jumps, zog and cem the whole. The truth has "
            "noise of its own, and the noise of both keeps the cosine below 1: compare with the oracle's own rows."
        )
    elif any(one.model == ORACLE for one in rows):
        sentences.append(
            "ESNR does not see whether gradients are wrong, and levels have no slope to compare directions with."
        )
    else:
        sentences.append(
            "ESNR does not see whether gradients are wrong, and there is no truth here to compare directions with."
        )
    return sentences


def _row(one: EsnrEntry) -> tuple[TableCell, ...]:
    aligned = one.alignment
    return (
        TableCell(one.model),
        TableCell(one.method),
        with_interval(one.esnr),
        _bias(one),
        with_interval(one.esnr_per_rollout)._replace(short=short(one.esnr_per_rollout.value)),
        with_interval(one.pooled)._replace(short=short(one.pooled.value)),
        undefined(one.esnr.reason) if one.median is None else TableCell(short(one.median)),
        undefined("no truth to compare with") if aligned is None else with_interval(aligned.cosine),
        TableCell("n/a" if aligned is None or aligned.against_share is None else f"{aligned.against_share:.0%}"),
        TableCell(f"{one.dead_share:.0%}"),
        TableCell(f"{one.model_steps:,}", value=one.model_steps, short=_steps_words(one.model_steps)),
        TableCell(f"{one.seconds:.2f}"),
    )


def _bias(one: EsnrEntry) -> TableCell:
    """Against infinitely many samples, with its interval."""
    if one.bias is None:
        return undefined("records of earlier versions have no bias")
    if one.bias.value is None:
        return undefined(one.bias.reason)
    return with_interval(one.bias)._replace(short=f"{one.bias.value:+.2g}")


def _steps_words(count: int) -> str:
    """Many in millions."""
    return f"{count:,}" if count < 100_000 else f"{count / 1e6:.2f}M"


def _name(one: EsnrEntry) -> str:
    return NAMES.get(one.method, one.method)
