import sys

import pytest

from tests.conftest import says

pytest.importorskip("torch", reason="install wmel[learned]")
pytest.importorskip("plotly", reason="install wmel[report]")


def test_the_toy_writes_its_page_and_its_table_and_prints_the_same(wmel_command, quick_toy, tmp_path):
    with quick_toy():
        done = wmel_command("esnr", "toy", "--output", str(tmp_path / "new"), "--speeds", "6", "--seeds", "8")
    assert done.returncode == 0, done.stderr
    page, markdown = (tmp_path / "new" / name for name in ("toy.html", "toy.md"))
    assert done.stdout.splitlines()[-2:] == [f"page: {page}", f"markdown: {markdown}"]
    assert "ceiling bounce: 154/154 steps" in done.stderr
    claim = "First-order gradients (FoG) have the highest ESNR per rollout"
    for text in (done.stdout, page.read_text(), markdown.read_text()):
        assert claim in text and "in 0% of the seeds" in text


def test_quiet_prints_nothing(wmel_command, quick_toy, tmp_path):
    with quick_toy():
        done = wmel_command("esnr", "toy", "--output", str(tmp_path), "--speeds", "4.5", "--seeds", "1", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["toy.html", "toy.json", "toy.md"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--output {here} --speeds fast", "speeds takes one ... 'fast'"),
        ("--output {here} --speeds ,", "speeds takes one or"),
        ("--output {here} --speeds 5,5.0", "all different, got [5.0, 5.0]"),
        ("--output {here} --speeds 5,-6", "speed ... (0, 100] m/s, ... -6.0"),
        ("--output {here} --speeds nan", "speed ... (0, 100] m/s"),
        ("--output {here} --seeds 0", "seeds must be positive"),
        ("--output {here} --seeds x", "'x'"),
        ("--output /proc/nowhere", "cannot write /proc/nowhere/toy.html"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(wmel_command, tmp_path, line, words):
    done = wmel_command("esnr", "toy", *line.format(here=tmp_path / "new").split())
    assert done.returncode == 2 and says(done.stderr, words) and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "new").exists()


PANEL, FIGURES = "wmel.diagnostics.ceiling_bounce.panel", "wmel.reports.toy_figures"


@pytest.mark.parametrize(("package", "extra", "module"), [("torch", "learned", PANEL), ("plotly", "report", FIGURES)])
def test_without_an_extra_the_one_to_install_is_named_before_any_work(
    wmel_command, tmp_path, monkeypatch, package, extra, module
):
    monkeypatch.setitem(sys.modules, package, None)
    for name in (module, "wmel.diagnostics.ceiling_bounce.problem"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    done = wmel_command("esnr", "toy", "--output", str(tmp_path / "new"))
    assert done.returncode == 2 and f"needs {package}: install wmel[{extra}]" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_ends_with_examples(wmel_command):
    text = wmel_command("esnr", "toy", "--help").stdout
    assert "wmel esnr toy --output runs/toy" in text.split("Examples:")[1]
    assert "toy" in wmel_command("esnr", "--help").stdout
