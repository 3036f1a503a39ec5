import numpy as np
import pytest

from wmel.errors import BadInput
from wmel.schema import COLUMNS, EpisodeTable, blank_columns, concatenate_tables


def table(count=3):
    columns = blank_columns(count)
    columns["episode_seed"][:] = np.arange(count)
    columns["success"][:1] = True
    return EpisodeTable(columns)


def test_blank_columns_have_the_declared_types():
    declared = {name: np.dtype(column.dtype) for name, column in COLUMNS.items()}
    assert {name: column.dtype for name, column in blank_columns(2).items()} == declared


def test_where_keeps_the_rows_that_match():
    assert table().where(success=True)["episode_seed"].tolist() == [0]
    assert len(table().where(success=True, episode_seed=2)) == 0


def test_stacking_keeps_every_row_in_order():
    assert concatenate_tables([table(2), table(3)])["episode_seed"].tolist() == [0, 1, 0, 1, 2]


def test_a_missing_column_is_refused():
    columns = blank_columns(2)
    del columns["steps"]
    with pytest.raises(BadInput, match="columns"):
        EpisodeTable(columns)


def test_columns_of_two_lengths_are_refused():
    with pytest.raises(BadInput, match="one length"):
        EpisodeTable({**blank_columns(2), "steps": np.zeros(3, int)})


def test_runs_differ_in_a_setting_both_have_and_not_in_one_that_came_later():
    from dataclasses import replace

    import wmel

    run = wmel.run("maze_toy", "cem", episodes=1, horizon=4, quiet=True).run
    planner = dict(run.policy_settings["planner"])

    def planned(settings):
        return replace(run, policy_settings={**run.policy_settings, "planner": settings})

    earlier = {name: value for name, value in planner.items() if name != "min_deviation"}
    assert planned(earlier).differences(run) == {}
    other = {**planner, "candidates": planner["candidates"] + 1}
    assert planned(other).differences(run) == {"planner": (other, planner)}
