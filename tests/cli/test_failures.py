from tests.analysis.tables import table
from wmel.api.episodes import common_failure


def test_a_run_in_which_every_episode_failed_alike_fails():
    message = common_failure(table(error=["OSError: x", "OSError: x"], steps=[0, 0]))
    assert message == "every episode failed at its first decision: OSError: x"


def test_other_runs_do_not():
    assert common_failure(table(error=["OSError: x", ""], steps=[0, 0])) is None
    assert common_failure(table(error=["OSError: x", "KeyError: y"], steps=[0, 0])) is None
    assert common_failure(table(error=["OSError: x"], steps=[3])) is None
