"""The pages with published figures beside ours: sources, and figures that follow from the stored results."""

import json
import re
from pathlib import Path

import pytest

from tests.conftest import says

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages():
    """The three commands, imported where they read and write: from the root of the repository."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.syspath_prepend(ROOT / "benchmarks")
        import findings_figures
        import labels
        import over_training
        import reproduction

        yield reproduction, findings_figures, labels, over_training


@pytest.fixture(scope="module")
def rows(pages):
    return pages[0].compared_rows()


def test_the_cpg_paper_is_the_source_only_of_what_it_contains(pages):
    """Its sections 4.4 to 4.9: acrobot and cartpole from fixed starts, CEM at 15 steps, no noise."""
    rows = [row for row in pages[0].ROWS if row.source.startswith("CPG ")]
    for row in rows:
        assert re.fullmatch(r"dmc_(acrobot|cartpole)-fixed/(random-shooting-15-50|cem-15)(/drop-next-[015])?"
                            r"(-iterations=2-(24|36))?", row.setting), row  # fmt: skip
        assert row.episodes in {"4.4": {10}, "4.5": {150}, "4.7": {10, 150}, "4.8": {50}, "4.9": {30}}[row.source[4:]]


def test_every_other_row_names_a_file_of_the_repository_or_its_page_on_metrics(pages):
    others = {row.source for row in pages[0].ROWS if not row.source.startswith("CPG ")}
    named = {source for source in others if re.fullmatch(r"0\.18: dmc_(acrobot|cartpole|reacher)/\w+\.json", source)}
    assert others - named == {"taxonomy", "0.18, run again"}


def test_a_published_mlp_on_data_of_tdmpc2_stands_beside_such_an_mlp_or_is_marked(pages):
    """Published MLPs under CEM, and all on cartpole and reacher, are fitted to data of a TD-MPC2."""
    for row in pages[0].ROWS:
        is_such = "cem" in row.setting or "cartpole" in row.setting or "reacher" in row.setting
        if row.arm.partition("[")[0] in ("mlp", "mlp-td1", "mlp-td5") and is_such:
            assert row.arm.startswith("mlp-td") or row.apart == pages[0].OTHER_DATA, row


def test_the_page_of_the_reproduction_follows_from_the_results(pages, rows):
    reproduction = pages[0]
    assert (ROOT / "docs" / "reproduction.md").read_text() == reproduction.page_text(rows, reproduction.kept_errors())


def test_figures_of_the_findings_follow_from_the_results(pages, rows):
    reproduction, findings, *_ = pages
    text = (ROOT / "docs" / "findings.md").read_text()
    for name, figures in findings.FIGURES.items():
        new = findings.replace_marked(text, name, figures(rows, reproduction.kept_errors()))
        assert new == text, name


def test_changed_labels_follow_from_the_results(pages):
    labels = pages[2]
    assert labels.table() in (ROOT / "results" / "README.md").read_text()


def test_every_result_with_rows_is_read_and_has_verdicts_of_one_rule(pages):
    """After decision 0015 a gap has a p-value, and a label of a gap only where the corrected one is at most .05."""
    found = list(pages[2].compared())
    assert len({study for study, *_ in found}) > 20
    for study, setting, model, _, gap, _ in found:
        assert gap.p_value is not None and gap.p_value_holm is not None, (study, setting, model)
        claims = gap.verdict in ("MODEL BOTTLENECK", "LEARNED OUTPERFORMS ORACLE")
        assert claims == (gap.p_value_holm <= 0.05), (study, setting, model)


def test_the_readings_over_training_are_of_every_checkpoint(pages):
    """Six trainings of eight checkpoints; finding 18 also counts on a gap beside every reading."""
    found = pages[3].all_trainings()
    assert len(found) == 6 and {tuple(one.records) for one in found} == {(1, 4, 17, 70, 287, 1181, 4860, 20000)}
    assert all(set(column) == set(one.records) for one in found for column in one.beside.values())


def test_the_figures_over_training_are_those_of_the_readings(pages, tmp_path, monkeypatch):
    import figures

    monkeypatch.setattr(figures, "FIGURES", tmp_path / "figures")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    figures.over_training()
    name = "tdmpc2-over-training.svg"
    assert (tmp_path / "figures" / name).read_text() == (ROOT / "docs" / "figures" / name).read_text()


def test_when_to_trust_cites_the_figures_of_finding_18(pages):
    over_training = pages[3]
    text = " ".join((ROOT / "docs" / "when-to-trust.md").read_text().split())
    cosines = [over_training.cosine(run, over_training.PEAK) for run in over_training.all_trainings()]
    span = [over_training.hundredths(end([one for one, *_ in cosines])) for end in (min, max)]
    assert f"between {' and '.join(span)}" in text
    assert over_training.with_interval(cosines[-1]) in text


def test_without_trainings_the_errors_have_a_reason_in_place_of_a_number(pages):
    reproduction = pages[0]
    for text in (reproduction.held_out_errors({}), reproduction.coverage({})):
        assert "nan" not in text.lower() and says(text, "n/a ... no training is kept")
    kept = reproduction.kept_errors()
    assert "n/a" not in reproduction.held_out_errors(kept) + reproduction.coverage(kept)


def test_kept_errors_are_finite_and_of_three_seeds(pages):
    kept = json.loads((ROOT / "results" / "held-out-errors.json").read_text(), parse_constant=pytest.fail)
    for transitions in (200, 2000, 20000):
        seeds = [one["seed"] for one in pages[0].errors_of(kept, "acrobot-pooled", transitions)]
        assert sorted(seeds) == [0, 1, 2]
