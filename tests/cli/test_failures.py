from tests.analysis.tables import table
from wmel.cli.failures import common_failure


def test_a_run_in_which_every_episode_failed_alike_fails(capsys):
    assert common_failure(table(error=["OSError: x", "OSError: x"], steps=[0, 0])) == 1
    assert "every episode failed at its first decision: OSError: x" in capsys.readouterr().err


def test_other_runs_do_not():
    assert common_failure(table(error=["OSError: x", ""], steps=[0, 0])) == 0
    assert common_failure(table(error=["OSError: x", "KeyError: y"], steps=[0, 0])) == 0
    assert common_failure(table(error=["OSError: x"], steps=[3])) == 0
