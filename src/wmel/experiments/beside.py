"""Keys that a study writes with a part and that are no settings of it: their values, and names a part cannot have."""

from collections.abc import Iterable, Mapping
from typing import Any

from wmel.contract.cell import NO_SETTINGS
from wmel.errors import BadInput
from wmel.settings import Meaning, Setting, settings_of

EXECUTED = Meaning("actions of a plan that are executed; none: the whole plan", at_least=1)
BESIDE: Mapping[str, Mapping[str, Setting]] = {  # kind -> settings that are written with its part
    "planner": {"execute": Setting("execute", int | None, None, EXECUTED)},
    "perturbation": {
        "probability": Setting("probability", float, 1.0, Meaning("share of episodes it strikes", 0, 1)),
        "step": Setting("step", int | None, None, Meaning("step at which it strikes; none: sampled", at_least=0)),
    },
}
KEYS = {"diagnostic": ("environment", "objective")}  # other keys of a study that go with a part


def check_beside(kind: str, name: Any, given: Mapping[str, Any], *, is_typed: bool = False) -> dict[str, Any]:
    """Those of the settings that are written with a part of a kind, as the study takes them; typed ones are parsed."""
    known = BESIDE.get(kind, {})
    try:
        return {
            key: known[key].parsed(value) if is_typed and isinstance(value, str) else known[key].checked(value)
            for key, value in given.items()
            if key in known
        }
    except BadInput as error:
        raise BadInput(f"{kind} '{name}': {error}" if isinstance(name, str) else f"{kind}: {error}") from error


def refuse_taken_names(kind: str, name: str, make: Any, given: Iterable[str], taken: Iterable[str] = ()) -> None:
    """Refuse settings of a part that cannot be told from keys that a study writes with it."""
    reserved = {*BESIDE.get(kind, ()), *KEYS.get(kind, ()), *NO_SETTINGS, *taken}
    own = settings_of(make) if callable(make) else {}
    for key in given:
        if key in reserved and key in own:
            raise BadInput(
                f"{kind} '{name}': its setting '{key}' has the name of a key that a study writes with a {kind}: "
                "rename the setting"
            )
