from wmel.stats.estimate import Estimate


def test_an_undefined_estimate_is_not_zero_and_says_why():
    estimate = Estimate.undefined("no episode succeeded")
    assert not estimate.is_defined and estimate.value is None and estimate.reason == "no episode succeeded"


def test_zero_is_a_value():
    assert Estimate(0.0).is_defined
