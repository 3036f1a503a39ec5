"""Hostile parts: models, environments, planners and metrics that break in every way of a list, and hostile names."""

from pathlib import Path
from random import Random

from tests.attack.cases import Case, Outcome
from tests.attack.fixtures import INPUTS, Fixtures

NAME = "hostile parts"
PROMISE = "a part that breaks costs its row or its line; a run without its work never ends with 0"
DEEDS = {  # name -> what a method does in place of its work; `value` is what it would return
    "Raises": "raise RuntimeError('no')",
    "Silent": "raise RuntimeError",
    "Exits": "raise SystemExit(0)",
    "ExitsWithText": "raise SystemExit('gone')",
    "Own": "raise Own('base')",
    "Generator": "raise GeneratorExit",
    "Stops": "raise StopIteration",
    "Memory": "raise MemoryError",
    "Recursion": "return self.deep()",
    "Mute": "raise Mute",
    "Long": "raise ValueError('x' * 5_000_000)",
    "Lines": "raise ValueError('line\\n' * 10_000)",
    "Surrogate": "raise ValueError('\\udcff')",
    "Control": "raise ValueError('\\x1b[31mred\\x1b]0;title\\x07')",
    "Number": "raise OSError(2, 'no such file', '\\udcff\\x1b')",
    "Keys": "raise KeyError(('a', float('nan')))",
    "Nothing": "return None",
    "Text": "return 'text'",
    "NaN": "return np.asarray(value, float) * np.nan",
    "Infinite": "return np.asarray(value, float) + np.inf",
    "Huge": "return np.asarray(value, float) + 1e308",
    "Complex": "return np.asarray(value) + 1j",
    "Objects": "return np.asarray(value).astype(object)",
    "Texts": "return np.asarray(value).astype(str)",
    "Masked": "return np.ma.masked_all(np.shape(value))",
    "Short": "return np.asarray(value)[:0]",
    "Flat": "return np.asarray(value).ravel()",
    "Wide": "return np.concatenate([np.asarray(value)] * 2, axis=-1)",
    "Deeper": "return np.asarray(value)[None]",
    "Scalar": "return 3.0",
    "Lists": "return np.asarray(value).tolist()",
    "Half": "return np.asarray(value).astype(np.float16)",
    "Whole": "return np.asarray(value).astype(np.int8)",
    "ReadOnly": "value = np.array(value); value.setflags(write=False); return value",
    "Dict": "return {'a': value}",
    "Endless": "return iter(int, 1)",
    "Raising": "return Raising()",
}
FATAL = ("Exits", "ExitsWithText", "Own", "Generator", "Raises", "Silent", "Mute", "Nothing", "Text")
HEAD = """import numpy as np
import wmel
from wmel.planners.random_shooting import RandomShooting
MAZE = wmel.environment("maze_toy")
class Own(BaseException): pass
class Mute(Exception):
    def __str__(self): raise RuntimeError("mute")
    __repr__ = __str__
class Raising:
    def __getattr__(self, name): raise RuntimeError("attribute " + name)
    def __len__(self): raise RuntimeError("length")
    def __array__(self, *a, **k): raise RuntimeError("array")
    def __repr__(self): raise RuntimeError("repr")
class Deep:
    def deep(self): return self.deep()
"""
BATCHED = """
class Part(Deep):
    spec = wmel.WorldModelSpec("mine", action_input="index")
    def encode(self, percept, previous): return percept.observation
    def step(self, latents, actions): return latents
    def decode(self, latents): return latents
"""
WORLD = """
class Part(Deep):
    def __getattr__(self, name): return getattr(MAZE, name)
"""
PLANNER = """
class Part(Deep):
    plan_horizon, evaluations, warm_start = 3, 3, None
    def plan(self, problem, previous):
        plan = RandomShooting(3, 3).plan(problem, None)
"""
FUNCTION = """
class Own_(Deep): pass
self = Own_()
"""
PLACES = {  # kind of part and its method -> its code, which ends with what it does
    "model": "class Part(Deep):\n    def __call__(self, state, value):\n        ",
    "model built": BATCHED + "    def __init__(self):\n        value = 0\n        ",
    "model step": BATCHED + "    def step(self, value, actions):\n        ",
    "model encode": BATCHED + "    def encode(self, percept, q):\n        value = percept.observation\n        ",
    "model decode": BATCHED + "    def decode(self, value):\n        ",
    **{
        f"environment {method}": WORLD
        + f"    def {method}(self, *given):\n        value = MAZE.{method}(*given)\n        "
        for method in ("reset", "step", "observe", "goals")
    },
    "environment quantities": WORLD + "    def quantities(self, *given):\n        found = MAZE.quantities(*given)\n"
    "        return {name: self.one(value) for name, value in found.items()}\n    def one(self, value):\n        ",
    "environment spec": WORLD + "    @property\n    def spec(self):\n        value = 1.0\n        ",
    "planner": PLANNER + "        value = plan\n        ",
    "planner actions": PLANNER + "        return dataclasses.replace(plan, actions=self.one(plan.actions))\n"
    "    def one(self, value):\n        ",
    "metric": FUNCTION + "def Part(table):\n        value = table['steps']\n        ",
    "executor": "class Part(Deep):\n    workers = 1\n    def __call__(self, value, jobs):\n        ",
    "module": FUNCTION + "def work(value):\n        ",
}  # fmt: skip
AFTER = {"module": "\nwork(1)\n"}
RUN = (
    "run --env maze_toy --policy random-shooting --episodes 2 --horizon 3 --candidates 2 --plan-horizon 2 --output out"
)
OTHERS = "--episodes 2 --horizon 3 --candidates 2 --plan-horizon 2 --output out"
LINES = {
    "model": (f"cpg --env maze_toy --model h:Part {OTHERS}", "check h:Part", f"{RUN} --model h:Part"),
    "environment": (f"run --env h:Part --policy random-shooting {OTHERS}", "check h:Part"),
    "planner": ("run --env maze_toy --policy h:Part --episodes 2 --horizon 3 --output out", "check h:Part"),
    "metric": (f"{RUN} --metric h:Part", "check h:Part"),
    "executor": (f"{RUN} --executor h:Part",),
    "module": (f"{RUN} --model h:Part", "check h:Part", "list h:Part", "explain h:Part"),
}
NAMES = (
    "\x1b[31mred",
    "a\nb",
    "\u202egnp",
    "[x](http://y)",
    "<img src=x>",
    "![a](b)",
    "|",
    "`",
    "\udcff",
    "x" * 10_000,
    "..",
    "&amp;",
)
CORPUS = tuple(
    (place, deed, line)
    for place in PLACES
    for deed in DEEDS
    for line in LINES[place.split()[0]][: 1 if place.split()[0] != "module" else 4]
)


def case(number: int, rng: Random, fixtures: Fixtures) -> Case:
    """Every deed at every place first; then, deeds that come late, other lines and hostile names."""
    is_listed = number < len(CORPUS)
    place, deed = CORPUS[number][:2] if is_listed else (rng.choice(list(PLACES)), rng.choice(list(DEEDS)))
    line = CORPUS[number][2] if is_listed else rng.choice(LINES[place.split()[0]])
    steps = [DEEDS[deed]]
    if not is_listed and place.startswith(("model", "environment", "planner")):
        if rng.random() < 0.5:
            late = f"if Part.calls <= {rng.randint(1, 60)}: return value"
            steps = ["Part.calls = getattr(Part, 'calls', 0) + 1", late, *steps]
        if rng.random() < 0.3:
            steps = [f"type(self).name = {rng.choice(NAMES)!a}", *steps]
    code = HEAD + PLACES[place] + "; ".join(steps).replace("; ", "\n        ") + AFTER.get(place, "\n")
    is_fatal = (
        is_listed and deed in FATAL and place not in ("metric", "model built") and line.split()[0] in ("run", "cpg")
    )

    def check(folder: Path, outcome: Outcome) -> str | None:
        return f"exit 0, although {place} {deed}" if is_fatal and outcome.code == 0 else None

    return Case(tuple(line.split()), {**INPUTS, "h.py": code.encode()}, {}, check, f"{place}: {deed}")
