import pytest

from tests.analysis.tables import table
from wmel.analysis.scorecard import scorecard
from wmel.catalog import METRICS
from wmel.errors import BadInput


def test_a_scorecard_asks_every_metric_of_the_catalogue():
    card = scorecard("random", table(success=[True, False]))
    assert list(card.estimates) == [name for name in METRICS.parts if not name.endswith("@")]
    assert card.policy_name == "random" and card.episodes == 2
    assert card["success_rate"].value == 0.5


def test_metrics_that_take_a_number_are_added_when_asked_for():
    card = scorecard("random", table(success=[True, True], first_success_step=[5, 30]), ["success@10"])
    assert card["success@10"].value == 0.5


@pytest.mark.parametrize("name", ["success@x", "success@0", "success@2.5", "deadline@-1", "deadline@nan", "sucess@3"])
def test_a_metric_that_is_none_is_refused(name):
    with pytest.raises(BadInput):
        scorecard("random", table(success=[True]), [name])
