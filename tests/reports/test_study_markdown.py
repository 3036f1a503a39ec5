import re

import pytest
from wmel.reports.study_markdown import to_markdown_study
from wmel.reports.study_words import describe_comparison, gap_sentence

from tests.reports.study_records import HOSTILE, many_gaps, one_gap, study, trained_on_more
from wmel.reports.study_gaps import study_gaps


@pytest.fixture(scope="module")
def text() -> str:
    return to_markdown_study(study())


def hostile():
    return study(models=(HOSTILE, "*b|c*"), name="a `b` | <img src=x>")


def tables_in(text: str) -> list[list[list[str]]]:
    """The cells of every table, as GitHub would split them."""
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    return [[re.split(r"(?<!\\)\|", line)[1:-1] for line in block] for block in blocks]


@pytest.mark.parametrize("made", [study, one_gap, trained_on_more, hostile])
def test_every_row_of_a_table_has_as_many_cells_as_its_head(made):
    record = made()
    tables = tables_in(to_markdown_study(record))
    assert len(tables) == 1 + 2 * len(record.comparisons) + bool(record.missing)
    assert all(len(row) == len(table[0]) for table in tables for row in table)


def test_the_summary_names_every_gap_once(text):
    rows = tables_in(text)[0][2:]
    assert len(rows) == 12
    assert len({(row[0], row[1]) for row in rows}) == 12
    assert text.index("## Summary") < text.index("## maze_toy/cem-5")


def test_title_about_size_missing_and_refused_are_said(text):
    assert text.startswith("# horizons\n\nHow far must a planner look ahead?\n\nTwo worlds, two models.\n")
    assert "24 cells, 960 stored episodes, 6 comparisons." in text
    assert "| maze_toy/cem-50/mlp/seed-1 | 7 | the disk was full |" in text
    assert "- maze_toy/cem-15: seeds 0 and 1 cannot be pooled: version of numpy differs" in text


def test_a_criterion_put_in_place_of_the_studys_own_is_said(text):
    assert "judged anew by reward>=0.5" in to_markdown_study(study(rescored="reward>=0.5"))
    assert "anew" not in text


def test_a_setting_is_one_line_that_names_what_the_arms_share():
    said = describe_comparison(study().comparisons[0])
    for fact in ("environment: maze_toy", "starts: sampled from the task", "planner: cem", "goal_distance"):
        assert fact in said
    for fact in ("success: distance<=0", "seeds: 0, 1", "episodes: 40", "swept plan_horizon: 5"):
        assert fact in said
    assert "\n" not in said
    assert "perturbation" not in said and "stop" not in said  # as usual, so not named
    assert "model" not in said  # arms differ in it


def test_many_seeds_are_named_by_their_ends():
    first = study().comparisons[0]
    setting = first.setting.model_copy(update={"seeds": list(range(20))})
    assert "seeds: 0 to 19;" in describe_comparison(first.model_copy(update={"setting": setting}))


def test_what_is_undefined_says_n_a_and_why(text):
    assert "- n/a: the arms are not paired (mid-p of dmc_cartpole/cem-5 / large-mlp; Holm" in text
    assert "- n/a: no episode succeeded (steps to success of every row)" in text
    assert "- n/a: the oracle never succeeds: there is nothing to lose (relative loss of every row)" in text
    assert "None" not in text and "nan" not in text


def test_claims_have_columns_only_where_something_was_retrained(text):
    assert "this training recipe" in text
    gap = one_gap().comparisons[0].gaps["mlp"].model_copy(update={"claims": None})
    alone = one_gap().comparisons[0].model_copy(update={"gaps": {"mlp": gap}})
    assert "this training recipe" not in to_markdown_study(study(comparisons=[alone]))


def test_a_record_of_nothing_is_a_page_that_says_so():
    text = to_markdown_study(study(comparisons=[], missing=[], refused=[]))
    assert "No gap was measured." in text and "|" not in text


def test_no_name_becomes_markup():
    text = to_markdown_study(hostile())
    assert text.startswith("# a \\`b\\` \\| \\<img src=x>\n")
    assert not re.search(r"(?<!\\)<[a-z/]", text)
    assert "\\*b\\|c\\*" in text


def test_an_open_verdict_claims_nothing_and_a_gap_that_may_be_chance_says_so():
    told = {(gap.comparison.name, gap.model): gap_sentence(gap) for gap in study_gaps(study())}
    assert "nothing is claimed" in told["maze_toy/cem-15", "large-mlp"]
    assert "episodes per arm would decide" in told["maze_toy/cem-15", "large-mlp"]
    assert "it may be chance" in told["maze_toy/cem-5", "mlp"]
    assert "of the training recipe it is not shown" in told["maze_toy/cem-5", "mlp"]
    assert "holds of the training recipe too" in told["maze_toy/cem-200", "mlp"]
    assert "another training run would give was not measured" in told["maze_toy/cem-200", "large-mlp"]
    assert "holds of that start alone" in told["dmc_cartpole/cem-15", "mlp"]
    assert "nothing is learned about the model" in told["dmc_cartpole/cem-5", "mlp"]


def test_a_run_that_may_stop_early_has_no_paper_verdict_and_says_why():
    only = one_gap().comparisons[0]
    entry = only.gaps["mlp"]
    early = {"anytime": entry.verdicts["strict"].model_copy(update={"rule": "anytime"})}
    gap = entry.model_copy(update={"verdict_paper": None, "verdicts": early})
    text = to_markdown_study(study(comparisons=[only.model_copy(update={"gaps": {"mlp": gap}})]))
    assert "verdict (anytime)" in text
    assert "- n/a: the run could stop early, which this does not allow for (verdict (paper) of mlp)" in text


def test_a_hundred_gaps_are_a_hundred_rows():
    assert len(tables_in(to_markdown_study(many_gaps(100)))[0]) == 102
