"""Whether the `control` extra is there, in the versions that work together."""

from importlib.metadata import PackageNotFoundError, version

from wmel.errors import MissingExtra

WANTED = {"mujoco": "3.16.", "dm-control": "1.0.49"}


def check_installed() -> None:
    """Refuse, with what to install, where a package is missing or of a version that loads no task."""
    for package, wanted in WANTED.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            raise MissingExtra(f"{package} is not installed: pip install 'wmel[control]'") from None
        if not f"{found}.".startswith(wanted):
            raise MissingExtra(
                f"{package} {found} is installed, and wmel needs {wanted.rstrip('.')}: with others the tasks of "
                "DeepMind Control do not load; pip install 'wmel[control]'"
            )
