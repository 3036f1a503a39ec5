"""The versions of what a result depends on."""

import platform
import sys
from functools import cache
from importlib.metadata import version

PACKAGES = {"wmel": "wmel", "numpy": "numpy", "mujoco": "mujoco", "dm_control": "dm-control", "torch": "torch"}


def versions_in_use() -> dict[str, str]:
    """Of Python and of each package that has been imported and can change a result."""
    loaded = {module: _version(package) for module, package in PACKAGES.items() if module in sys.modules}
    return {"python": platform.python_version(), **loaded}


_version = cache(version)  # asked anew it reads the package's files
