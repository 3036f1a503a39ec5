"""constraints.txt: an exact version of every requirement, within its range, and nothing that is of one machine."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LINES = [
    line.partition("#")[0].strip()
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if not line.startswith("#")
]
PINNED = dict(line.partition("==")[::2] for line in LINES)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"].values()
WANTED = [
    *PROJECT["build-system"]["requires"],
    *PROJECT["project"]["dependencies"],
    *(one for extra in EXTRAS for one in extra),
]
REQUIREMENTS = [Requirement(one) for one in WANTED]
USED = [Requirement(one) for one in PROJECT["project"]["dependencies"]]
USED += [
    Requirement(one)
    for name, extra in PROJECT["project"]["optional-dependencies"].items()
    if name != "dev"
    for one in extra
]
TRIED = re.findall(
    r"^\| ([\w-]+) \| ([\d.]+) \| ([\d.]+) \|$", (ROOT / "docs/installation.md").read_text(), re.MULTILINE
)


def test_every_line_is_a_name_and_an_exact_version():
    assert [line for line in LINES if not re.fullmatch(r"[a-z0-9-]+==[0-9a-z.]+", line)] == []


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda one: one.name)
def test_every_requirement_has_a_version_of_its_range(requirement):
    assert PINNED[canonicalize_name(requirement.name)] in requirement.specifier


def test_the_page_states_the_oldest_and_the_newest_version_tried_of_every_package():
    assert [name for name, *_ in TRIED] and {name for name, *_ in TRIED} == {one.name for one in USED}


@pytest.mark.parametrize("requirement", USED, ids=lambda one: one.name)
def test_the_oldest_version_tried_is_the_lower_bound(requirement):
    ((_, oldest, newest),) = [one for one in TRIED if one[0] == requirement.name]
    (bound,) = [one.version.removesuffix(".*") for one in requirement.specifier]
    assert f"{oldest}.".startswith(f"{bound}.") and set(oldest.removeprefix(bound)) <= set(".0")
    assert newest in requirement.specifier


def test_what_the_makefile_installs_by_name_has_an_exact_version():
    named = re.findall(r"install --quiet (\S+)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert named == ["uv==$(UV_VERSION)"] and re.search(
        r"^UV_VERSION := [\d.]+$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )


def test_no_address_and_no_gpu_library_is_in_it():
    text = (ROOT / "constraints.txt").read_text()
    assert "://" not in text and "--" not in text
    assert [name for name in PINNED if name.startswith(("cuda", "nvidia", "triton"))] == []
