import pytest

from wmel.contract.criterion import Criterion, When
from wmel.errors import BadInput


@pytest.mark.parametrize("bounds", [{}, {"at_least": 1.0, "at_most": 2.0}])
def test_a_criterion_has_exactly_one_bound(bounds):
    with pytest.raises(BadInput, match="either at_least or at_most"):
        Criterion("reward", **bounds)


def test_a_sustained_success_needs_a_step():
    with pytest.raises(BadInput, match="must be positive"):
        Criterion("reward", at_least=0.6, when=When.SUSTAINED, steps=0)


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        (Criterion("distance", at_most=0), "distance<=0"),
        (Criterion("reward", at_least=0.6), "reward>=0.6"),
        (Criterion("reward", at_least=0.6, when=When.SUSTAINED, steps=10), "reward>=0.6@sustained:10"),
        (Criterion("reward", at_least=0.6, when=When.AT_END), "reward>=0.6@at_end"),
    ],
)
def test_a_criterion_reads_as_it_is_typed(criterion, words):
    assert str(criterion) == words


@pytest.mark.parametrize(
    "text", ["distance<=0", "reward>=0.6", "reward>=0.6@sustained:10", "reward>=-2e-05@at_end", "reward>=0.12345678"]
)
def test_what_is_written_is_read_back(text):
    assert str(Criterion.parse(text)) == text
    assert Criterion.parse(f" {text.replace('=', '= ')} ") == Criterion.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a success criterion"),
        ("reward", "not a success criterion"),
        (">=0.6", "not a success criterion"),
        ("reward>=high", "not a success criterion"),
        ("reward>=nan", "not a success criterion"),
        ("reward<=0.6>=0.2", "not a success criterion"),
        ("reward>=0.6@sustained:x", "not a success criterion"),
        ("reward>=0.6@often", "when must be .* got 'often'"),
        ("reward>=0.6@at_end:3", "sustained success has steps"),
        ("reward>=0.6@sustained:0", "must be positive"),
    ],
)
def test_what_is_no_criterion_is_refused(text, words):
    with pytest.raises(BadInput, match=words):
        Criterion.parse(text)
