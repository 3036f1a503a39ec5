import re

import pytest

from tests.glossary.outputs import arms as chosen_arms
from tests.reports.study_records import HOSTILE, many_gaps, one_gap, study, trained_on_more
from wmel.reports.document import Section, Table
from wmel.reports.html import render_html
from wmel.reports.markdown import render_markdown
from wmel.reports.study_gaps import distinct_labels, facts_of, shared_facts, study_gaps
from wmel.reports.study_record import cpg_record, study_of_gaps
from wmel.reports.study_report import arms_section, gap_sentence, limits_of_all, study_document
from wmel.reports.study_tables import further_table, gaps_table, rules_table
from wmel.reports.terminal import render_terminal


def markdown_of(record) -> str:
    return render_markdown(study_document(record))


@pytest.fixture(scope="module")
def text() -> str:
    return markdown_of(study())


def hostile():
    return study(models=(HOSTILE, "*b|c*"), name="a `b` | <img src=x>")


def tables_in(text: str) -> list[list[list[str]]]:
    """The cells of every table, as GitHub would split them."""
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    return [[re.split(r"(?<!\\)\|", line)[1:-1] for line in block] for block in blocks]


@pytest.mark.parametrize("made", [study, one_gap, trained_on_more, hostile])
def test_every_row_of_a_table_has_as_many_cells_as_its_head(made):
    record = made()
    tables = tables_in(markdown_of(record))
    assert len(tables) == 3 + len(record.comparisons) + bool(record.missing)
    assert all(len(row) == len(table[0]) for table in tables for row in table)


def tables_of(blocks) -> list[Table]:
    """Every table below some blocks."""
    inner = [table for block in blocks if isinstance(block, Section) for table in tables_of(block.blocks)]
    return [*(block for block in blocks if isinstance(block, Table)), *inner]


def test_the_tables_hold_what_the_record_holds():
    gaps = study_gaps(study())
    rows = gaps_table(study()).rows
    for gap, row in zip(gaps, rows, strict=True):
        entry, (setting, model, verdict, difference, interval, oracle, success, floor, adjusted, n) = gap.entry, row
        assert (setting.text, model.text, verdict.text) == (gap.differs, gap.model, entry.verdict)
        assert oracle.value == entry.oracle_success_rate and oracle.text == f"{oracle.value:.3f}"
        assert success.value == entry.learned_success_rate and success.text == f"{success.value:.3f}"
        assert floor.value == gap.comparison.scorecards["random"].success_rate
        assert difference.value == entry.gap and difference.text == f"{entry.gap:+.3f}"
        assert interval.text == f"[{entry.gap_ci_low:+.3f}, {entry.gap_ci_high:+.3f}]"
        assert adjusted.value == entry.p_value_holm
        assert n.text == str(entry.n_episodes_learned)
    p_values = [row[3].value for row in further_table(study()).rows]
    assert p_values == [gap.entry.p_value.value for gap in gaps]


def test_the_rule_of_the_paper_stands_behind_the_one_that_decides():
    rules = [row[2].text for row in rules_table(study()).rows]
    assert rules == ["strict", "paper"] * 12
    titles = [section.title for section in study_document(study()).sections if not section.is_empty]
    assert titles.index("Gaps") < titles.index("Arms") < titles.index("The rules, and further numbers")


def test_a_gap_stands_once_in_a_table_and_once_in_words():
    for made in (study(), one_gap()):
        text = markdown_of(made).partition("## The rules")[0]
        assert text.count("| MODEL BOTTLENECK |") == sum(
            gap.entry.verdict == "MODEL BOTTLENECK" for gap in study_gaps(made)
        )
    assert markdown_of(one_gap()).count("pairs; gap ") == 1


def test_a_page_its_markdown_and_its_terminal_hold_the_same_gaps(text):
    page, lines = render_html(study_document(study())), "\n".join(render_terminal(study_document(study())))
    for row in gaps_table(study()).rows:
        numbers = [cell.text for cell in row[3:]]
        assert "".join(f'<td class="number">{one.replace("<", "&lt;")}</td>' for one in numbers) in page
        assert f"| {' | '.join(one for one in numbers)} |" in text
        assert all(number in lines for number in numbers)


def test_the_summary_names_every_gap_once(text):
    rows = tables_in(text)[0][2:]
    assert len(rows) == 12
    assert len({(row[0], row[1]) for row in rows}) == 12
    assert text.index("## Gaps") < text.index("Every gap with its verdict") < text.index("### maze_toy plan_horizon=5")


def test_title_about_size_missing_and_refused_are_said(text):
    title, answer, *shared = text.split("\n\n")[:5]
    assert title == "# horizons" and answer.startswith("It depends: mlp ")
    assert shared[:2] == ["How far must a planner look ahead?", "Two worlds, two models."]
    assert shared[2] == "24 cells, 960 stored episodes, 6 settings."
    assert "| maze_toy/cem-50/mlp/seed-1 | 7 | the disk was full |" in text
    assert "- maze_toy/cem-15: seeds 0 and 1 cannot be pooled: version of numpy differs" in text


def test_a_criterion_put_in_place_of_the_studys_own_is_said(text):
    assert "judged anew by reward>=0.5" in markdown_of(study(rescored="reward>=0.5"))
    assert "anew" not in text


def test_what_all_settings_share_is_stated_once_and_each_names_what_differs(text):
    record = study()
    shared = shared_facts(record.comparisons)
    assert shared == {
        "planner": "cem (executes the whole plan)", "objective": "goal_distance", "success": "distance<=0",
        "seeds": "0, 1", "episodes": "40 of at most 50 steps",
    }  # fmt: skip
    assert all(text.count(f"{name}: {value}") == 1 for name, value in shared.items())
    assert text.count("environment: maze_toy; starts: sampled from the task\n") == 3
    assert "perturbation" not in text and "model" not in facts_of(record.comparisons[0])


def test_headings_of_settings_hold_what_differs_with_its_key():
    titles = [section.title for section in arms_section(study()).blocks]
    assert titles[:3] == ["maze_toy plan_horizon=5", "maze_toy plan_horizon=15", "maze_toy plan_horizon=200"]


def test_many_seeds_are_named_by_their_ends():
    first = study().comparisons[0]
    setting = first.setting.model_copy(update={"seeds": list(range(20))})
    assert facts_of(first.model_copy(update={"setting": setting}))["seeds"] == "0 to 19"


def test_what_is_undefined_says_n_a_and_why(text):
    assert "- n/a: the arms are not paired (Holm p of dmc_cartpole plan_horizon=5 / large-mlp)" in text
    assert "- n/a: no episode succeeded (steps of random)" in text
    assert "- n/a: the oracle never succeeds: there is nothing to lose (relative loss of dmc" in text
    assert "None" not in text and "nan" not in text


def test_every_n_a_of_a_document_has_a_reason():
    for table in tables_of(study_document(study()).sections):
        for row in table.rows:
            assert all(cell.reason for cell in row if cell.text == "n/a")


def test_columns_in_which_nothing_was_requested_are_left_out(text):
    arms = [table for table in tables_in(text) if table[0][0].strip() == "arm"]
    heads = [[cell.strip() for cell in table[0]] for table in arms]
    assert len(heads) == 6 and not any("return" in head for head in heads)  # no environment rewards
    assert sum("steps" in head for head in heads) == 5  # in one setting no arm succeeds


@pytest.mark.parametrize(
    ("split", "rate", "cell", "note"),
    [
        ({"planner and score": 0.3, "model": 0.2}, 0.5, "0.300 by planner and score, 0.200 by model", ""),
        ({"planner and score": 0.0, "model": 0.5}, 0.5, "0.500 by model", ""),
        ({"planner and score": 0.0, "model": 0.0}, 1.0, "n/a", "no episode of the model failed"),
        ({}, 0.5, "n/a", "fails less often"),
    ],
)
def test_failures_have_their_causes_or_a_true_reason_why_not(split, rate, cell, note):
    first, second = many_gaps(2).comparisons
    gap, other = (
        first.gaps["mlp"].model_copy(update={"failure_split": shares, "learned_success_rate": success})
        for shares, success in ((split, rate), ({"model": 0.4}, 0.6))
    )
    pair = [first.model_copy(update={"gaps": {"mlp": gap}}), second.model_copy(update={"gaps": {"mlp": other}})]
    rows = further_table(study(comparisons=pair)).rows
    assert rows[0][-1].text == cell and note in rows[0][-1].reason and rows[1][-1].text == "0.400 by model"


def test_claims_have_columns_only_where_something_was_retrained(text):
    assert "this training recipe" in text
    gap = one_gap().comparisons[0].gaps["mlp"].model_copy(update={"claims": None})
    alone = one_gap().comparisons[0].model_copy(update={"gaps": {"mlp": gap}})
    assert "this training recipe" not in markdown_of(study(comparisons=[alone]))


def test_a_record_of_nothing_is_a_page_that_says_so():
    text = markdown_of(study(comparisons=[], missing=[], refused=[]))
    assert "No gap was measured." in text and "|" not in text


def test_no_name_becomes_markup():
    text = markdown_of(hostile())
    assert text.startswith("# a \\`b\\` \\| \\<img src=x>\n")
    assert not re.search(r"(?<!\\)<[a-z/]", text)
    assert "\\*b\\|c\\*" in text


def test_an_open_verdict_claims_nothing_and_a_gap_that_may_be_chance_says_so():
    sentences = {(gap.comparison.name, gap.model): gap_sentence(gap) for gap in study_gaps(study())}
    assert sentences["maze_toy/cem-15", "large-mlp"].startswith("Cannot tell: ")
    assert "fresh pairs would decide" in sentences["maze_toy/cem-15", "large-mlp"]
    assert sentences["maze_toy/cem-5", "mlp"].startswith("Cannot tell: ")
    assert "does not hold after correction for 11 comparisons (Holm p 0.0" in sentences["maze_toy/cem-5", "mlp"]
    assert "About 69 fresh pairs would decide" in sentences["maze_toy/cem-5", "mlp"]
    assert "not for the training recipe: [-0.100, +1.000] (clipped)" in sentences["maze_toy/cem-15", "mlp"]
    assert "The training recipe shows it too: [+0.325, +0.925]" in sentences["maze_toy/cem-200", "mlp"]
    assert "another training run would give was not measured" in sentences["maze_toy/cem-200", "large-mlp"]
    assert "holds of that start alone" in sentences["dmc_cartpole/cem-15", "large-mlp"]
    assert sentences["dmc_cartpole/cem-5", "mlp"].startswith("This comparison cannot see the model: ")


def test_another_training_run_is_a_question_of_trained_models_alone():
    sentences = {}
    for weights in (None, "c3a7"):
        arms = chosen_arms((0, 20, 0, 0, 0), weights=weights)
        assert cpg_record(arms).trained == ([] if weights is None else ["mine"])
        sentences[weights] = markdown_of(study_of_gaps(cpg_record(arms)))
    assert "another training run" in sentences["c3a7"] and "another training run" not in sentences[None]


def test_what_all_gaps_leave_open_is_said_once():
    gaps = study_gaps(many_gaps(5))
    shared = limits_of_all(gaps)
    assert shared and not any(limit in gap_sentence(gap, shared) for gap in gaps for limit in shared)
    assert all(limit in gap_sentence(gap) for gap in gaps for limit in shared)
    for rendered in (markdown_of(many_gaps(5)), "\n".join(render_terminal(study_document(many_gaps(5))))):
        assert all(rendered.count(limit) == 1 for limit in shared)
    assert limits_of_all(study_gaps(one_gap())) == []


def test_a_run_that_may_stop_early_has_no_paper_verdict_and_says_why():
    only = one_gap().comparisons[0]
    entry = only.gaps["mlp"]
    early = {"anytime": entry.verdicts["strict"].model_copy(update={"rule": "anytime"})}
    gap = entry.model_copy(update={"verdict_paper": None, "verdicts": early})
    text = markdown_of(study(comparisons=[only.model_copy(update={"gaps": {"mlp": gap}})]))
    assert "| mlp | anytime | " in text and "| mlp | paper | " not in text
    paper_first = study(paper_first=True, comparisons=[only.model_copy(update={"gaps": {"mlp": gap}})])
    (row,) = gaps_table(paper_first).rows
    assert "paper" not in " ".join(column.title for column in gaps_table(paper_first).columns) and len(row) == 9


def test_a_hundred_gaps_are_a_hundred_rows():
    assert len(tables_in(markdown_of(many_gaps(100)))[0]) == 102


def test_a_setting_without_the_perturbation_of_the_others_is_named_by_that():
    struck, calm = (study().comparisons[1] for _ in range(2))
    setting = struck.setting.model_copy(update={"perturbation": "drop-next-5", "perturb_prob": 1.0})
    struck = struck.model_copy(update={"setting": setting, "labels": {"perturbation": "drop-next-5"}})
    calm = calm.model_copy(update={"labels": {}})
    assert distinct_labels([calm, struck]) == ["no perturbation", "perturbation=drop-next-5"]
    assert distinct_labels([calm]) == [""]
