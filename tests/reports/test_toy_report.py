import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.reports.outline import Outline
from wmel.errors import MissingExtra
from wmel.reports.html import render_html
from wmel.reports.markdown import render_markdown

pytest.importorskip("plotly", reason="the page needs plotly: install wmel[report]")
pytest.importorskip("torch", reason="install wmel[learned]")

from wmel.diagnostics.ceiling_bounce.panel import ANGLES, ESTIMATORS, SIGMA, Panel, PanelReading
from wmel.diagnostics.ceiling_bounce.problem import landscape
from wmel.reports.toy_figures import ascents_figure, landscape_figure, ratios_figure
from wmel.reports.toy_report import toy_answer, toy_document, toy_sentences, toy_table
from wmel.stats.estimate import Estimate, mean


@cache
def made_panel(speed: float) -> Panel:
    """Numbers made up such that FoG has the most signal and gets nowhere."""
    climb = np.linspace(0, 1, 21)[:, None] * np.array([1.0, 0.99] * 3)
    readings = []
    for place, one in enumerate(ESTIMATORS):
        fog = one.name == "FoG"
        ratios = np.full(len(ANGLES), 1000.0 if fog else 1 / (1 + place))
        ratios[5] = -0.1
        heights = climb * (0.8 if fog else 1 - 0.004 * place)
        readings.append(PanelReading(one.name, ratios, float(place), Estimate(0.25 if fog else 1.0, n=14), heights))
    return Panel(landscape(speed, SIGMA), ANGLES, tuple(readings))


@pytest.fixture(scope="module")
def panels() -> list[Panel]:
    return [made_panel(5.0), made_panel(6.0)]


@pytest.fixture(scope="module")
def page(panels) -> str:
    return render_html(toy_document(panels))


def test_a_page_has_every_figure_table_and_sentence(page, panels):
    assert toy_answer(panels) in page
    outline = Outline(page)
    assert [one["data-figure"] for one in outline.all("script") if "data-figure" in one] == [
        f"{name}-{number}" for name in ("landscape", "ratios", "ascents") for number in (0, 1)
    ]
    assert len(outline.all("table")) == 2
    for words in toy_sentences(panels[1]):
        assert words.replace("'", "&#x27;") in page


def test_the_markdown_has_the_same_tables(panels):
    text = render_markdown(toy_document(panels))
    for panel in panels:
        for row in toy_table(panel).rows:
            assert f"| {' | '.join(cell.text for cell in row)} |" in text


def test_sentences_come_from_the_numbers(panels):
    printed = " ".join(toy_sentences(panels[1]))
    assert "FoG) have the highest ESNR per rollout (mean 992.9, median 1e+03)" in printed
    assert "in 0% of the seeds" in printed and "CEM 8/64, with 0.496 per rollout, climbs faster" in printed
    assert "at 25% of 14 angles" in printed and "highest, 6, for MPPI (number 6) of 7 by AUC" in printed


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0, 1e4) | st.just(float("nan")), min_size=len(ANGLES), max_size=len(ANGLES)))
def test_a_sentence_has_the_share_of_the_flat_angles(ratios):
    known = {angle: one for angle, one in zip(ANGLES, ratios, strict=True) if one > 0}
    assume(known)
    panel = made_panel(5.0)
    first = replace(panel.first_order, ratios=np.array(ratios))
    changed = replace(panel, readings=(first, *panel.without_first_order))
    flat = sum(one for angle, one in known.items() if abs(angle) <= 0.05) / sum(known.values())
    (printed,) = (one for one in toy_sentences(changed) if "of the mean ESNR of FoG" in one)
    assert printed.startswith(f"{flat:.0%} of the mean ESNR of FoG comes from ")
    assert ("depends on the angles" in printed) == (flat > 0.5)


CLIMBS = st.lists(st.floats(0.3, 1).map(lambda one: round(one, 2)), min_size=6, max_size=6)
FOUND = st.tuples(st.sampled_from([-0.1, 0.2, 3.0, 70.0]), CLIMBS, st.sampled_from([1.0, 40.0, 27_000.0]))


@settings(deadline=None, max_examples=100)
@given(st.lists(FOUND, min_size=len(ESTIMATORS), max_size=len(ESTIMATORS)), st.integers(1, 6))
def test_every_sentence_is_true_of_the_numbers(found, seeds):
    """Each claim is computed again from heights [iterations, seeds], ratios and literal numbers."""
    panel, ramp = made_panel(6.0), np.linspace(0, 1, 21)[:, None]
    readings = tuple(
        replace(one, ratios=np.full(len(ANGLES), ratio), literal=literal, heights=ramp * np.array(climbs[:seeds]))
        for one, (ratio, climbs, literal) in zip(panel.readings, found, strict=True)
    )
    panel = replace(panel, readings=readings)
    printed, answer = " ".join(toy_sentences(panel)), toy_answer([panel])
    spread = {one.name: mean(one.heights[1:].mean(axis=0)) for one in readings}
    speed = {name: one.value for name, one in spread.items()}
    fog, fastest = readings[0], max(readings, key=lambda one: speed[one.name])
    better = sum(one.ratios[0] > fog.ratios[0] for one in readings)
    assert ("have the highest ESNR per rollout" in printed) == (better == 0)
    assert (f"of rank {1 + better} " in printed) == (better > 0)
    assert ("no AUC is higher" in printed) == all(one <= speed["FoG"] for one in speed.values())
    own, other = spread["FoG"], spread[fastest.name]
    is_slower = own.high is not None and other.low is not None and own.high < other.low
    assert (f"{fastest.name}, with {fastest.mean:.3g} per rollout, climbs faster" in printed) == is_slower
    highest = [one for one in readings if one.literal == max(one.literal for one in readings)]
    for one in highest:
        place = 1 + sum(speed[other] > speed[one.name] for other in speed)
        assert f"{one.name} (number {place})" in printed.split("literal number")[1]
    assert printed.split("literal number")[1].count("(number ") == len(highest)
    leader = max(readings, key=lambda one: one.mean)
    own, other = spread[leader.name], spread[fastest.name]
    slower = own.high is not None and other.low is not None and own.high < other.low
    unknown = any(one.low is None for one in spread.values())
    assert answer.startswith("No: ") == slower
    assert answer.startswith("Cannot tell ") == (unknown and not slower)
    assert answer.startswith("No difference: ") == (not unknown and not slower)


@settings(deadline=None, max_examples=40)
@given(st.floats(3, 60))
def test_the_landscape_is_as_the_sentence_says(speed):
    land = landscape(round(speed, 3), SIGMA)
    printed = toy_sentences(replace(made_panel(6.0), landscape=land))[0]
    if not land.contact.any():
        assert "never meets" in printed and f"flies {land.distances.max():.2f} m" in printed
        return
    first, last = np.flatnonzero(land.contact)[[0, -1]]
    jump = land.distances[last + 1] - land.distances[last]
    assert f"angles {land.angles[first]:.3f} to {land.angles[last]:.3f}" in printed
    assert f"jumps {'up' if jump > 0 else 'down'} by {abs(jump):.2f} m" in printed
    before, behind = land.distances[:first].max(), land.distances[last + 1 :].max()
    assert f"it is {before:.2f} m at best, behind it {behind:.2f} m" in printed


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.floats(0.1, 99), st.floats(0.3, 1)), min_size=len(ESTIMATORS), max_size=len(ESTIMATORS)))
def test_the_first_sentence_names_the_highest_esnr_and_the_fastest_ascent(found):
    panel, climb = made_panel(6.0), np.linspace(0, 1, 21)[:, None] * np.array([1.0, 0.99, 0.98] * 2)
    changed = [
        replace(one, ratios=np.full(len(ANGLES), ratio), heights=climb * height)
        for one, (ratio, height) in zip(panel.readings, found, strict=True)
    ]
    panel = replace(panel, readings=tuple(changed))
    leader = max(changed, key=lambda one: one.mean)
    fastest = max(changed, key=lambda one: one.speed_of_ascent.value)
    slower = leader.speed_of_ascent.high < fastest.speed_of_ascent.low
    answer = toy_answer([panel])
    assert answer.startswith("No: " if slower else "No difference: in 1 launch ")
    if slower:
        assert f"At 6 m/s {leader.name} has the highest ESNR ({leader.mean:.3g} per rollout)" in answer
        assert f"in {leader.reached.value:.0%} of the seeds; {fastest.name} ({fastest.mean:.3g})" in answer
        assert answer.endswith(f"comes to it in {fastest.reached.value:.0%}.")


def test_other_numbers_give_other_sentences(panels):
    best = panels[1].readings[1]
    quiet = replace(panels[1].first_order, ratios=best.ratios / 100, heights=best.heights + 0.01)
    printed = " ".join(toy_sentences(replace(panels[1], readings=(quiet, *panels[1].without_first_order))))
    assert "ESNR per rollout of rank 7" in printed and "no AUC is higher" in printed


def test_without_contact_nothing_is_said_of_signs():
    flat = made_panel(4.0)
    unknown = [replace(one, right_sign=Estimate.undefined("no contact")) for one in flat.readings]
    flat = replace(flat, readings=tuple(unknown))
    assert "never meets the ceiling" in toy_sentences(flat)[0]
    assert not any("true sign" in words for words in toy_sentences(flat))
    assert "n/a: no contact (right sign of every row)" in render_markdown(toy_document([flat]))
    assert not landscape_figure(flat).layout.shapes[1:]


def test_the_landscape_is_broken_where_it_jumps():
    for speed, jumps in ((4.0, 0), (6.0, 1), (10.0, 2)):
        distances = landscape_figure(made_panel(speed)).data[0].y
        assert sum(value is None for value in distances) == jumps


def test_what_a_logarithmic_axis_cannot_show_is_left_out(panels):
    figure = ratios_figure(panels[0])
    assert figure.layout.yaxis.type == "log" and len(figure.data) == len(ESTIMATORS)
    assert all(trace.y[5] is None and trace.y[6] > 0 for trace in figure.data)


def test_every_ascent_has_a_band_that_its_legend_hides_too(panels):
    traces = ascents_figure(panels[0]).data
    assert len(traces) == 2 * len(ESTIMATORS)
    assert [trace.legendgroup for trace in traces[::2]] == [trace.name for trace in traces[1::2]]


def test_without_plotly_the_page_names_the_extra(monkeypatch, panels):
    monkeypatch.setitem(sys.modules, "plotly", None)
    for name in ("toy_figures", "figure_style"):
        monkeypatch.delitem(sys.modules, f"wmel.reports.{name}", raising=False)
    with pytest.raises(MissingExtra, match=r"install wmel\[report\]"):
        render_html(toy_document(panels))


@pytest.mark.slow
def test_a_browser_draws_every_figure_without_complaint_or_request(opened, page):
    tab, noticed, address = opened(page)
    tab.wait_for_selector("#ascents-1 .main-svg")
    assert tab.locator(".js-plotly-plot").count() == 6
    assert tab.locator("#ratios-1 .scatterlayer .trace").count() == len(ESTIMATORS)
    assert noticed == {"complaints": [], "requests": [address]}


@pytest.mark.slow
def test_a_narrow_window_scrolls_tables_and_not_the_page(opened, page):
    tab, _, _ = opened(page, viewport={"width": 400, "height": 800})
    tab.wait_for_selector("#ascents-1 .main-svg")
    assert tab.evaluate("document.documentElement.scrollWidth") == 400
