"""What a study says in words: how much was run, each setting in a line, and what each gap may be taken to mean."""

from wmel.analysis.verdict import Label, shown
from wmel.contract.labels import label_words
from wmel.reports.entries import estimate_from
from wmel.reports.study_envelope import ComparisonEntry, StudyRecord
from wmel.reports.study_gaps import StudyGap
from wmel.reports.words import describe_setting

ALPHA = 0.05
MEANING = {
    Label.MODEL_BOTTLENECK: "planning succeeds less often on this model than on the true dynamics",
    Label.LEARNED_OUTPERFORMS: "planning succeeds more often on this model than on the true dynamics, "
    "which does not make the model truer than the dynamics",
    Label.PLANNER_BOTTLENECK: "planning hardly ever succeeds, even on the true dynamics, "
    "so nothing is learned about the model",
    Label.AS_GOOD: "planning on this model succeeds as often as on the true dynamics, and the task is solved",
    Label.EQUIVALENT: "planning on this model succeeds as often as on the true dynamics, "
    "but the planner is not shown to solve the task",
    Label.EQUIVALENT_ONLY: "planning on this model succeeds as often as on the true dynamics; "
    "how good that is was not judged",
    Label.INCONCLUSIVE: "these episodes do not show whether the model costs any success, and nothing is claimed",
    Label.INCONCLUSIVE_FUTILE: "the run was given up before it could show anything, and nothing is claimed",
    Label.INCONCLUSIVE_ERRORS: "too much depends on episodes that broke, and nothing is claimed",
}
DIRECTIONS = (Label.MODEL_BOTTLENECK, Label.LEARNED_OUTPERFORMS)
EQUALITIES = (Label.AS_GOOD, Label.EQUIVALENT, Label.EQUIVALENT_ONLY)


def size_words(record: StudyRecord) -> str:
    """What was run."""
    sizes = f"{_some(record.cells, 'cell')}, {_some(record.episodes, 'stored episode')}"
    compared = f"{sizes}, {_some(len(record.comparisons), 'comparison')}"
    judged = f"Success was judged anew by {record.rescored}, in place of the study's own criterion."
    return f"{compared}." if record.rescored is None else f"{compared}. {judged}"


def describe_comparison(comparison: ComparisonEntry) -> str:
    """One line: what every arm shares."""
    setting = comparison.setting
    shared = describe_setting(setting, f"{setting.episodes} of at most {setting.horizon} steps", differing=("model",))
    swept = (f"swept {name}: {label_words(value)}" for name, value in comparison.labels.items())
    return "; ".join([shared, *swept])


def gap_sentence(gap: StudyGap) -> str:
    """What the verdict is, why, and how far it carries."""
    entry, label = gap.entry, gap.entry.verdict
    meaning = MEANING.get(Label(label), "") if label in set(Label) else "a verdict this version has no words for"
    episodes = f"{entry.n_episodes_oracle} episodes per arm"
    if entry.n_episodes_oracle != entry.n_episodes_learned:
        episodes = f"{entry.n_episodes_oracle} and {entry.n_episodes_learned} episodes"
    measured = f"gap {entry.gap:+.3f} over {episodes}; {gap.verdict.reason}"
    return " ".join([f"{meaning[:1].upper()}{meaning[1:]} ({measured}).", *_limits(gap)])


def _limits(gap: StudyGap) -> list[str]:
    """What the verdict does not say."""
    own = gap.acts_by
    limits = [] if own is None else [f"It acts by itself ({own}): the gap is of model and planner together."]
    if gap.is_open:
        return limits
    adjusted = gap.entry.mid_p_holm
    if gap.entry.verdict in DIRECTIONS and adjusted is not None and adjusted > ALPHA:
        limits.append(f"Adjusted for all gaps of this study its mid-p is {adjusted:.2g}: it may be chance.")
    if gap.entry.verdict in (*DIRECTIONS, *EQUALITIES):
        limits += _recipe_limit(gap)
    if gap.comparison.setting.init == "fixed":
        limits.append("Every episode starts in the same state: it holds of that start alone.")
    return limits


def _recipe_limit(gap: StudyGap) -> list[str]:
    claims = gap.entry.claims
    if claims is None:
        return ["What another training run would give was not measured."]
    recipe = estimate_from(claims.this_training_recipe)
    if recipe.low is None or recipe.high is None:
        return [f"Of the training recipe nothing is shown: {recipe.reason or 'it has no interval'}."]
    within = gap.verdict.margins.get("delta", 0.0)
    shows = {
        Label.MODEL_BOTTLENECK: recipe.low > 0,
        Label.LEARNED_OUTPERFORMS: recipe.high < 0,
    }.get(Label(gap.entry.verdict), -within < recipe.low and recipe.high < within)
    if shows:
        return [f"It holds of the training recipe too: {shown(recipe)}."]
    return [f"It holds of these checkpoints; of the training recipe it is not shown: {shown(recipe)}."]


def _some(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
