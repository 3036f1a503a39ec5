"""`wmel check`: does a part keep the contract it declares?"""

from typing import Annotated

import typer

from wmel.cli import options

EXAMPLES = """\b
Examples:
  wmel check maze_toy
  wmel check dmc:walker-walk
  wmel check cem
  wmel check drop-next-3
  wmel check success@20
  wmel check my_package.my_module:MyModel --env maze_toy
"""


def check(
    name: Annotated[str, typer.Argument(help="A part of the catalogue, or one of your own as package.module:object.")],
    env: options.Environment = "maze_toy",
) -> int:
    """Run the conformance kit of a part; every broken promise is a sentence that says how to put it right."""
    from wmel import catalog
    from wmel.cli.inputs import find_from_here
    from wmel.testing.kits import check_part

    find_from_here()
    kind, found = check_part(name, catalog.environment(env))
    print(f"{name} as {kind}")
    for finding in found:
        mark, words = ("ok  ", finding.note) if finding.kept else ("FAIL", finding.problem)
        print(
            f"{mark} {finding.promise}" + (f" ({words})" if finding.kept and words else f": {words}" if words else "")
        )
    broken = sum(not finding.kept for finding in found)
    print(f"{len(found) - broken} of {len(found)} promises kept")
    return 1 if broken else 0
