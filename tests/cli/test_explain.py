from wmel.analysis.scorecard import explained
from wmel.catalog import METRICS


def test_every_metric_of_the_catalogue_is_explained_in_full(wmel_command):
    for name in METRICS.parts:
        text = wmel_command("explain", f"{name}20" if name.endswith("@") else name).stdout
        for heading in ("Definition:", "Formula:", "Unit:", "Why a team acts on it:", "Example:"):
            assert heading in text, (name, heading)


def test_without_a_name_all_are_listed(wmel_command):
    assert wmel_command("explain").stdout.split() == explained()


def test_an_unknown_metric_is_one_clear_line(wmel_command):
    done = wmel_command("explain", "happiness")
    assert done.returncode == 2 and "no metric named 'happiness'; known: success_rate" in done.stderr
