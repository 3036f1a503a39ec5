"""Hostile parts: models, environments, planners and metrics that break in every way of a list, and hostile names."""

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
PLACES = {  # kind of part and its method -> its code; {deed} is what it does
    "model": "class Part(Deep):\n    def __call__(self, state, action):\n        value = state\n        {deed}\n",
    "model built": "class Part(Deep):\n    def __init__(self):\n        value = 0\n        {deed}\n    def __call__(self, s, a): return s\n",
    "model step": "class Part(Deep):\n    spec = wmel.WorldModelSpec('mine', action_input='index')\n    def encode(self, p, q): return p.observation\n"
    "    def step(self, latents, actions):\n        value = latents\n        {deed}\n    def decode(self, latents): return latents\n",
    "model encode": "class Part(Deep):\n    spec = wmel.WorldModelSpec('mine', action_input='index')\n    def step(self, l, a): return l\n"
    "    def encode(self, percept, q):\n        value = percept.observation\n        {deed}\n    def decode(self, latents): return latents\n",
    "model decode": "class Part(Deep):\n    spec = wmel.WorldModelSpec('mine', action_input='index')\n    def step(self, l, a): return l\n"
    "    def encode(self, p, q): return p.observation\n    def decode(self, latents):\n        value = latents\n        {deed}\n",
    **{
        f"environment {method}": f"class Part(Deep):\n    def __getattr__(self, name): return getattr(MAZE, name)\n"
        f"    def {method}(self, *given):\n        value = MAZE.{method}(*given)\n        {{deed}}\n"
        for method in ("reset", "step", "observe", "goals")
    },
    "environment quantities": "class Part(Deep):\n    def __getattr__(self, name): return getattr(MAZE, name)\n"
    "    def quantities(self, *given):\n        found = MAZE.quantities(*given)\n        return {{name: self.one(value) for name, value in found.items()}}\n"
    "    def one(self, value):\n        {deed}\n",
    "environment spec": "class Part(Deep):\n    def __getattr__(self, name): return getattr(MAZE, name)\n    @property\n"
    "    def spec(self):\n        value = 1.0\n        {deed}\n",
    "planner": "class Part(Deep):\n    plan_horizon, evaluations, warm_start = 3, 3, None\n"
    "    def plan(self, problem, previous):\n        value = RandomShooting(3, 3).plan(problem, None)\n        {deed}\n",
    "planner actions": "class Part(Deep):\n    plan_horizon, evaluations, warm_start = 3, 3, None\n    def plan(self, problem, previous):\n"
    "        plan = RandomShooting(3, 3).plan(problem, None)\n        import dataclasses\n"
    "        return dataclasses.replace(plan, actions=self.one(plan.actions))\n    def one(self, value):\n        {deed}\n",
    "metric": "class Deep2(Deep): pass\nself = Deep2()\ndef Part(table):\n    value = table['steps']\n    {deed}\n",
    "executor": "class Part(Deep):\n    workers = 1\n    def __call__(self, work, jobs):\n        value = 1\n        {deed}\n",
    "module": "class Deep2(Deep): pass\nself = Deep2()\ndef work(value):\n    {deed}\nwork(1)\n",
}  # fmt: skip
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
    if number < len(CORPUS):
        place, deed, line = CORPUS[number]
        body = DEEDS[deed]
    else:
        place, deed = rng.choice(list(PLACES)), rng.choice(list(DEEDS))
        line = rng.choice(LINES[place.split()[0]])
        body = DEEDS[deed]
        if rng.random() < 0.5 and place not in ("module", "executor", "metric"):
            body = f"Part.calls = getattr(Part, 'calls', 0) + 1\n        if Part.calls <= {rng.randint(1, 60)}: return value\n        {body}"
        if rng.random() < 0.3:
            body = f"type(self).name = {rng.choice(NAMES)!a}\n        {body}" if "\n    def" in PLACES[place] else body
    indent = "\n        " if "class Part" in PLACES[place] else "\n    "
    code = HEAD + PLACES[place].format(deed=body.replace("; ", indent).replace("\n        ", indent))
    must_fail = (
        deed in FATAL
        and number < len(CORPUS)
        and (place, deed) != ("model built", "Nothing")
        and place != "metric"
        and line.split()[0] in ("run", "cpg")
    )

    def check(folder: object, outcome: Outcome) -> str | None:
        return f"exit 0, although {place} {deed}" if must_fail and outcome.code == 0 else None

    return Case(
        tuple(line.split()), {**INPUTS, "h.py": code.encode("utf-8", "surrogatepass")}, {}, check, f"{place}: {deed}"
    )
