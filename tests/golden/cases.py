"""Every golden case by name."""

from tests.golden.esnr_cases import ESNR_CASES
from tests.golden.grid_cases import GRID_CASES
from tests.golden.learned_cases import LEARNED_CASES
from tests.golden.physics_cases import PHYSICS_CASES
from tests.golden.setting import Numbers, Setting

CASES: dict[str, Setting | Numbers] = {**GRID_CASES, **PHYSICS_CASES, **LEARNED_CASES, **ESNR_CASES}
