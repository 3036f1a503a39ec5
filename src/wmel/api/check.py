"""wmel.check: does a part keep the contract it declares?"""

from wmel import catalog
from wmel.api import options as o
from wmel.api.given import refuse_no_part
from wmel.results import Result


@o.verb
def check(
    name: o.PartName,
    *,
    environment: o.Environment = "maze_toy",
) -> Result:
    """Run the conformance kit of a part; every broken promise is a sentence that says how to put it right."""
    from wmel.testing.kits import check_part

    if not isinstance(environment, str):
        refuse_no_part("environment", environment)
    kind, found = check_part(name, catalog.environment(environment) if isinstance(environment, str) else environment)
    lines = [f"{name} as {kind}"]
    for finding in found:
        mark, words = ("ok  ", finding.note) if finding.kept else ("FAIL", finding.problem)
        after = f" ({words})" if finding.kept and words else f": {words}" if words else ""
        lines.append(f"{mark} {finding.promise}{after}")
    broken = sum(not finding.kept for finding in found)
    lines.append(f"{len(found) - broken} of {len(found)} promises kept")
    rows = [{"promise": one.promise, "kept": one.kept, "problem": one.problem} for one in found]
    return Result(f"{name}: {lines[-1]}.", rows, lines=lines, exit_code=1 if broken else 0)
