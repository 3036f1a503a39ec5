"""Tables made by hand."""

import numpy as np

from wmel.schema import EpisodeTable, blank_columns


def table(**columns) -> EpisodeTable:
    """A table of blank rows with the given columns filled in."""
    count = len(next(iter(columns.values())))
    blank = blank_columns(count)
    blank["episode_seed"][:] = np.arange(count)
    for name, values in columns.items():
        for row, value in enumerate(values):
            blank[name][row] = value
    return EpisodeTable(blank)
