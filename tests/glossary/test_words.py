"""Every word that an output prints can be looked up, however it is spelled."""

import ast
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.tables import table
from tests.glossary.outputs import printed
from tests.glossary.rendered import printed_text, printed_words
from wmel import catalog
from wmel.analysis.gap import counterfactual_planning_gap
from wmel.analysis.pooling import pooled_gap
from wmel.analysis.verdict import Label
from wmel.diagnostics.ceiling_bounce.panel import ESTIMATORS
from wmel.diagnostics.esnr.diagnostic import AlignmentDiagnostic
from wmel.diagnostics.esnr.measure import DIFFERENCES, METHODS
from wmel.diagnostics.esnr.over_training import CurveShape
from wmel.diagnostics.prediction_error import PredictionErrorDiagnostic
from wmel.errors import BadInput
from wmel.glossary.lookup import (
    COLUMNS,
    SETTINGS,
    all_groups,
    column_group,
    find,
    key_of,
    names,
    part_groups,
    setting_group,
)
from wmel.glossary.words import FILES, MEASURES, written_group, written_groups
from wmel.reports.answers import Advice, Unseen
from wmel.reports.records import RECORD
from wmel.reports.study_answers import ACTING, MIXED, PLANNED
from wmel.schema import COLUMNS as EPISODE_COLUMNS
from wmel.stats.estimate import MIN_VALUES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "wmel"
HEADED = ("TableColumn", "table")  # calls whose first arguments are headings
RULES = ("strict", "paper", "anytime")
MARGINS = ("delta", "rho", "tau", "alpha")
INTERVALS = ("wilson", "clopper-pearson", "agresti-caffo", "newcombe", "miettinen-nurminen", "tango", "bonett-price")
WITHIN_SENTENCES = ("confidence set", "clamped actions", "given up when futile", "resolved", "fresh pairs")
TESTS = (
    "weighted exact scores",
    "suite_gap",
    "mover-r",
    "mid-p",
    "Holm",
    "confidence sequence",
    "paired t",
    "t over seeds",
    "bootstrap-t",
    "Spearman",
)
DEFINED = [word for group in all_groups() for word in group.words]
FIELDS = sorted(
    {name for model in RECORD.json_schema(by_alias=True)["$defs"].values() for name in model.get("properties", {})}
)


def headings() -> list[str]:
    """Every heading of a table that the source spells out."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in HEADED:
                found |= {
                    one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
                }
    return sorted(found)


def unexplained(words: Iterable[str]) -> list[str]:
    """Those that cannot be looked up."""
    return [word for word in words if not is_explained(word)]


def is_explained(word: str, but_by: str | None = None) -> bool:
    """Whether a word has a meaning in another group than the one given."""
    try:
        return any(one.group != but_by for one in find(word))
    except BadInput:
        return False


def test_every_heading_that_the_source_spells_out_is_explained():
    found = headings()
    assert len(found) > 30 and unexplained(found) == []


def test_every_word_that_a_rendered_result_prints_is_explained():
    found = printed_words()
    assert len(found) > 120 and {word: verb for word, verb in found.items() if not is_explained(word)} == {}
    assert {"sampled from the task", "80% sure", "executes the whole plan", "INCONCLUSIVE", "wilson"} <= set(found)


@pytest.mark.parametrize("term", WITHIN_SENTENCES)
def test_a_term_within_the_sentences_of_a_result_is_explained(term):
    assert term in f"{printed_text()} {printed()}" and is_explained(term)


@pytest.mark.parametrize("kind", [*catalog.CATALOGUE, *catalog.REGISTRIES, "presets", "preset"])
def test_every_kind_that_is_listed_is_explained(kind):
    assert is_explained(kind)
    assert is_explained(kind.upper())


def test_every_verdict_answer_rule_margin_interval_and_test_is_explained():
    answers = [*Label, *Advice, *Unseen, MIXED, *PLANNED.values(), *ACTING.values()]
    assert unexplained([*answers, *RULES, *MARGINS, *INTERVALS, *TESTS]) == []


def test_every_estimator_and_shape_is_explained():
    shapes, toy = [one.value for one in CurveShape], [one.name for one in ESTIMATORS]
    assert unexplained([*METHODS, DIFFERENCES, *shapes, *toy]) == []


def test_every_metric_is_explained_in_full():
    for name in catalog.METRICS.built_in:
        (word,) = (one for one in find(f"{name}20" if name.endswith("@") else name) if one.group == "Metrics")
        assert word.definition and word.formula and word.unit and word.use and word.example, name


def test_every_column_of_episodes_is_explained_as_it_is_declared():
    for name, column in EPISODE_COLUMNS.items():
        (word,) = (one for one in find(name) if one.group == COLUMNS)
        assert word.definition.casefold().rstrip(".") == column.doc.casefold()


def test_every_field_of_a_record_is_explained_and_not_as_a_setting_alone():
    assert [field for field in FIELDS if not is_explained(field, but_by=SETTINGS)] == []


@pytest.mark.parametrize("registry", catalog.CATALOGUE.values(), ids=list(catalog.CATALOGUE))
def test_every_part_and_each_of_its_settings_is_explained(registry):
    assert unexplained(registry.built_in) == []
    for part in registry.built_in:
        for name, setting in registry.settings_of(part).items():
            meanings = [word for word in find(name) if word.group == SETTINGS]
            assert any(setting.expected in word.owner for word in meanings), (part, name)


def test_the_settings_that_stand_beside_a_part_are_explained():
    assert unexplained(["execute", "planner.execute", "perturbation.step", "probability"]) == []


def test_what_prediction_errors_are_returned_as_is_explained(maze):
    read = PredictionErrorDiagnostic(steps=2, states=2).read(maze, "oracle", None, objective=None, seed=0)
    assert unexplained(read["rows"][0]) == []


def test_what_alignment_is_returned_as_is_explained():
    pytest.importorskip("dm_control")
    small = AlignmentDiagnostic(methods=("zog",), states=2, samples=4, plan_horizon=2, episode_steps=2)
    read = small.read(catalog.environment("dmc:cartpole-swingup"), "oracle", None, objective=None, seed=0)
    assert unexplained(read["rows"][0]) == []


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("GAP", "gap"),
        ("Counterfactual Planning-Gap", "gap"),
        ("relative_loss", "relative loss"),
        ("relative-loss", "relative loss"),
        ("model bottleneck", "MODEL BOTTLENECK"),
        ("EQUIVALENT, PLANNER-LIMITED", "EQUIVALENT, PLANNER-LIMITED"),
        ("equivalent", "EQUIVALENT"),
        ("mid p", "mid-p"),
        ("H*", "effective_horizon"),
        ("success@20", "success@K"),
        ("deadline@5", "deadline@MS"),
        ("verdict (strict or anytime)", "verdict"),
        ("fog(fd)", "fog(fd)"),
        ("planner.elites", "elites"),
        ("perturbation_k", "k"),
        ("success_low", "low"),
        ("esnr.median", "median"),
        ("observation-noise-0.1@20", "observation-noise"),
        ("composite:drop-next-2+env-default", "composite"),
        ("dmc walker walk", "dmc:walker-walk"),
    ],
)
def test_a_word_is_found_however_it_is_spelled(typed, name):
    assert find(typed)[0].name == name


def test_all_meanings_of_a_word_are_given():
    assert {word.group for word in find("cem")} == {"ESNR and alignment", "planner"}
    assert {word.group for word in find("steps")} == {"Columns of tables", COLUMNS, SETTINGS}


@pytest.mark.parametrize(
    ("typed", "owners"),
    [
        ("planner.elites", {"planner"}),
        ("policy.elites", {"policy"}),
        ("Planner.Elites", {"planner"}),
        ("perturbation.step", {"perturbation"}),
        ("planner.execute", {"planner"}),
        ("diagnostic.sigma", {"diagnostic"}),
        ("model.epochs", {"trainer"}),
    ],
)
def test_a_setting_of_a_kind_is_explained_of_that_kind_alone(typed, owners):
    found = find(typed)
    assert found and all(word.group == SETTINGS for word in found)
    assert {kind for kind in catalog.REGISTRIES for word in found if kind in word.owner.partition(":")[0]} == owners


def test_what_checkpoints_and_diagnostics_take_beside_their_settings_is_explained():
    assert {find(f"model.{name}")[0].name for name in ("rollout", "device")} == {"rollout", "device"}
    assert find("diagnostic.objective")[0].name == "objective"


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("trainer.elites", "planner.elites"),
        ("planner.elitse", "planner.elites"),
        ("model.elites", "policy.elites"),
        ("planner.", "''"),
    ],
)
def test_a_setting_that_no_part_of_the_kind_has_is_refused_with_the_nearest(typed, named):
    with pytest.raises(BadInput) as refused:
        find(typed)
    assert named in str(refused.value) and typed.partition(".")[0] in str(refused.value)


@pytest.mark.parametrize("typed", ["", "@", "elitez", "MODEL BOTTLENECKS OF MINE", "no:such"])
def test_an_unknown_word_is_refused_by_name(typed):
    with pytest.raises(BadInput) as refused:
        find(typed)
    assert repr(typed) in str(refused.value)


def test_the_nearest_words_are_named():
    with pytest.raises(BadInput, match=r"nearest: .*elites"):
        find("elitez")


def test_every_name_and_every_other_name_is_found():
    for word in DEFINED:
        for name in (word.name, *word.also):
            assert word in find(name), name


def test_another_name_is_more_than_another_spelling():
    for word in DEFINED:
        keys = [key_of(name) for name in (word.name, *word.also)]
        assert len(keys) == len(set(keys)), word.name


def test_no_word_is_defined_twice_in_the_files():
    written = [word.name for group in written_groups() for word in group.words]
    assert len(written) == len(set(written))


def test_definitions_are_sentences_for_a_terminal():
    for word in DEFINED:
        assert word.definition.endswith("."), word.name
        assert not any("](" in text or "**" in text for text in word.parts.values()), word.name
    assert all(len(word.definition) < 260 for word in DEFINED)


def test_the_page_to_read_on_exists():
    assert all((ROOT / "docs" / word.page).is_file() for word in DEFINED if word.page)


def test_every_field_that_is_defined_is_one_of_a_record():
    listed = {name.casefold() for name in FIELDS}
    strange = [word.name for word in written_group("records").words if not {word.name, *word.also} & listed]
    assert not strange


def test_words_of_what_is_measured_are_no_settings_of_trainers():
    """They are found without importing torch."""
    trainers = {name for part in catalog.TRAINERS.built_in for name in catalog.TRAINERS.settings_of(part)}
    measured = {
        name.casefold()
        for group in written_groups(MEASURES)
        for word in group.words
        for name in (word.name, *word.also)
    }
    assert not trainers & measured


def test_names_hold_no_settings_and_every_group_has_words():
    assert "gap" in names() and "elites" not in names()
    assert all(group.words for group in all_groups())
    assert len(written_groups()) == len(FILES) and column_group().words and part_groups() and setting_group().words


def test_the_numbers_of_trainings_and_pairs_in_definitions_are_those_of_the_code():
    """The least number of trainings of a recipe's interval, and of pairs of a difference of returns."""
    (recipe,) = find("this training recipe")
    least = next(k for k in range(1, 9) if pooled_gap([((9, 10), (5, 10))] * k).this_training_recipe.is_defined)
    assert {3: "at least three training seeds"}[least] in recipe.reading
    (paired,) = find("paired t")
    assert {5: "Fewer than five pairs"}[MIN_VALUES] in paired.definition


def test_the_parts_of_failures_that_are_defined_are_those_that_results_have():
    """One pair of each kind: both succeed, only one does, neither, and two where the model broke."""
    oracle, learned = np.array([1, 1, 0, 0, 1, 0], bool), np.array([1, 0, 1, 0, 0, 0], bool)
    errors = np.array(["", "", "", "", "Broken", "Broken"])
    found = counterfactual_planning_gap(table(success=oracle), table(success=learned, error=errors)).failure_split
    (word,) = find("failure_split")
    assert all(f"[{part}]" in word.formula for part in found) and len(found) == 3
    assert sum(found.values()) == pytest.approx(1 - learned.mean())
