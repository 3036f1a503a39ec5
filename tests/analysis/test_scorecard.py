from tests.analysis.tables import table
from wmel.analysis.scorecard import scorecard
from wmel.catalog import METRICS


def test_a_scorecard_asks_every_metric_of_the_catalogue():
    card = scorecard("random", table(success=[True, False]))
    assert list(card.estimates) == list(METRICS.parts)
    assert card.policy_name == "random" and card.episodes == 2
    assert card["success_rate"].value == 0.5
