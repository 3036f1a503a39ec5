"""What stored numbers depend on besides the code: vector instructions of the CPU and versions of libraries."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "torch", "numba", "mujoco", "dm-control")
DEPENDS_ON = {
    "nothing": (),
    "physics": ("flags", "numpy", "mujoco", "dm-control"),
    "learned": ("flags", *PACKAGES),
}


def describe_machine() -> dict[str, str]:
    """The AVX and FMA flags of the CPU, and the version of each package."""
    return {"flags": " ".join(_vector_flags()), **{name: _version(name) for name in PACKAGES}}


def differences(stored: dict[str, str], depends_on: str) -> list[str]:
    """How this machine differs from the one of the stored numbers, as far as they depend on it."""
    here = describe_machine()
    return [
        f"{name} is {here[name]!r}, stored with {stored[name]!r}"
        for name in DEPENDS_ON[depends_on]
        if here[name] != stored[name]
    ]


def _vector_flags() -> list[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in reversed(lines))}
    return sorted(flag for flag in fields.get("flags", "").split() if flag.startswith(("avx", "fma")))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
