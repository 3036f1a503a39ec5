"""Which environments a test runs on: all of them where it is slow anyway, one of each kind where it is not."""

from wmel import catalog
from wmel.control_suite import NEEDS_GRAPHICS

GRIDS = ["maze_toy", "two_room_toy"]
QUICK = [*GRIDS, "dmc_acrobot", "dmc_reacher", "dmc:walker-walk", "dmc:fish-swim", "dmc:point_mass-hard"]
OTHERS = [
    name
    for name in catalog.ENVIRONMENTS.built_in
    if name not in QUICK and name.removeprefix("dmc:") not in NEEDS_GRAPHICS
]
