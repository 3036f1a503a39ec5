"""The documents' figures beside ours: runs the commands whose results are missing, writes docs/reproduction.md."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wmel.cli.main import app
from wmel.reports.json_envelope import CPGRecord, RunRecord
from wmel.reports.records import read_record
from wmel.stats.miettinen_nurminen import miettinen_nurminen, score
from wmel.stats.normal import two_sided
from wmel.stats.outcomes import binomial_table
from wmel.training.checkpoints import read_card

RUNS = Path("runs/reproduction")
PAGE = Path("docs/reproduction.md")
EPISODES = 150
PLANNERS = {"random-shooting": "random shooting 50x15", "cem": "CEM 3x24x15"}
WORDS = """# Reproduction: the documents' figures beside ours

Rates must agree in distribution: planner noise belongs to the episode here and to the run there, so no sequence is the
same. "Difference" is ours less theirs with the 95% score interval of Miettinen and Nurminen; "could see" is the
smallest difference from the documents' rate, towards .5, that these numbers of episodes show with a probability of
80%, by exact enumeration. Episodes take at most 500 steps and stop at the first success, as there. Written by
`make reproduction`, from stored runs where there are some; the commands at the end make them.
"""
TABLE = """

| environment | start | planner | documents | here | difference | could see | agree |
|---|---|---|---|---|---|---|---|
"""
LEARNED_WORDS = """
## Learned arms
An MLP (64-64, absolute next observation) trained on random actions; the data of the documents' cartpole and reacher
models are not stated. For cartpole they give a range, 0 to .067 (0 to 2 of 30); its lower end is in the table."""
COVERAGE_WORDS = """
Uprightness of visited states, acrobot from the fixed start (the documents' oracle executes one action of each plan,
ours the whole plan, as in the gap itself):
"""
ERROR_WORDS = """
Held-out errors of the acrobot models (fixed start):
"""


@dataclass(frozen=True)
class Model:
    """An MLP trained on random actions."""

    environment: str
    init: str
    transitions: int

    @property
    def folder(self) -> Path:
        return RUNS / "models" / f"{self.environment}-{self.init}-{self.transitions}"

    @property
    def command(self) -> str:
        return (
            f"wmel train mlp --env {self.environment} --init {self.init} --transitions {self.transitions} "
            f"--output {self.folder}"
        )


@dataclass(frozen=True)
class Arm:
    """One arm of the documents, on the oracle unless it has a model."""

    environment: str
    init: str
    planner: str
    successes: int
    episodes: int
    transitions: int | None = None

    @property
    def model(self) -> Model | None:
        return None if self.transitions is None else Model(self.environment, self.init, self.transitions)

    @property
    def file(self) -> Path:
        model = "oracle" if self.transitions is None else f"mlp-{self.transitions}"
        return RUNS / f"{self.environment}-{self.init}-{self.planner}-{model}.json"

    @property
    def command(self) -> str:
        drawn = " --candidates 50" if self.planner == "random-shooting" else ""
        model = "" if self.model is None else f" --model {self.model.folder}"
        planning = f"--policy {self.planner}{drawn} --plan-horizon 15{model}"
        where = f"--env {self.environment} --init {self.init}"
        return f"wmel run {where} {planning} --episodes {EPISODES} --output {self.file}"


ORACLES = [
    Arm("dmc_acrobot", "fixed", "random-shooting", 40, 150),
    Arm("dmc_acrobot", "fixed", "cem", 132, 150),
    Arm("dmc_cartpole", "task", "random-shooting", 28, 30),
    Arm("dmc_cartpole", "task", "cem", 14, 30),
    Arm("dmc_reacher", "task", "random-shooting", 30, 30),
    Arm("dmc_reacher", "task", "cem", 30, 30),
]
LEARNED = [
    Arm("dmc_acrobot", "fixed", "random-shooting", 0, 150, 200),
    Arm("dmc_acrobot", "fixed", "random-shooting", 0, 150, 2000),
    Arm("dmc_acrobot", "fixed", "random-shooting", 0, 150, 20000),
    Arm("dmc_acrobot", "fixed", "cem", 0, 150, 20000),
    Arm("dmc_acrobot", "task", "cem", 3, 150, 20000),
    Arm("dmc_cartpole", "task", "random-shooting", 0, 30, 20000),
    Arm("dmc_reacher", "task", "random-shooting", 21, 30, 20000),
    Arm("dmc_reacher", "task", "cem", 20, 30, 20000),
]
GAP = (
    f"wmel cpg --env dmc_acrobot --init fixed --model {Model('dmc_acrobot', 'fixed', 2000).folder} --episodes 10 "
    f"--output {RUNS / 'acrobot-gap'}"
)
ERRORS = {200: 0.0651, 2000: 0.0233, 20000: 0.0004}  # of the documents' acrobot models, held out by transition


def done(command: str, result: Path) -> None:
    """Run a command unless its result is there."""
    if not result.exists():
        print(command, flush=True)
        app([*command.split()[1:], "--quiet"], standalone_mode=False)


def smallest_seen(rate: float, theirs: int, ours: int) -> float | None:
    """The smallest difference, towards a rate of .5, that so many episodes there and here show with probability .8."""
    one, other = np.arange(theirs + 1.0)[:, None], np.arange(ours + 1.0)
    shown = np.abs(score(one, np.array(float(theirs)), other, np.array(float(ours)), 0.0)) > two_sided(0.95)
    for hundredths in range(1, 100):
        moved = rate + hundredths / 100 * (-1 if rate > 0.5 else 1)
        mass = binomial_table(theirs, rate)[:, None] * binomial_table(ours, moved)
        if (mass * shown).sum() >= 0.8:
            return hundredths / 100
    return None


def line(arm: Arm) -> str:
    if arm.model is not None:
        done(arm.model.command, arm.model.folder / "card.json")
    done(arm.command, arm.file)
    record = read_record(arm.file)
    assert isinstance(record, RunRecord)
    successes, episodes = sum(bool(row.success) for row in record.results), len(record.results)
    low, high = miettinen_nurminen(successes, episodes, arm.successes, arm.episodes)
    seen = smallest_seen(arm.successes / arm.episodes, arm.episodes, episodes)
    shares = [f"{s / n:.3f} ({s}/{n})" for s, n in ((arm.successes, arm.episodes), (successes, episodes))]
    model = "" if arm.transitions is None else f", MLP {arm.transitions:,}"
    agree = "yes" if low <= 0 <= high else "**no**"
    cells = [arm.environment, arm.init, PLANNERS[arm.planner] + model, *shares, f"[{low:+.3f}, {high:+.3f}]"]
    return f"| {' | '.join([*cells, f'{seen:.2f}', agree])} |"


def held_out_errors() -> str:
    """Acrobot: the error the documents report, and the open-loop error they do not."""
    rows = [
        "| transitions | documents, one step (mse) | here, one step (mse) | here, after 15 steps (rms) |",
        "|---|---|---|---|",
    ]
    for transitions, theirs in ERRORS.items():
        errors = read_card(Model("dmc_acrobot", "fixed", transitions).folder)["errors"]
        drift = errors["open_loop_rmse"][14]
        rows.append(f"| {transitions:,} | {theirs:.4f} | {errors['held_out_transition_mse']:.4f} | {drift:.2f} |")
    return "\n".join(rows)


def maze() -> str:
    """The documents' learned maze: the same success as the table, for more time per decision."""
    model, rows = RUNS / "models" / "maze", []
    done(f"wmel train mlp --env maze_toy --output {model}", model / "card.json")
    for name, given in (("oracle", ""), ("mlp", f" --model {model}")):
        path = RUNS / f"maze-{name}.json"
        done(f"wmel run --env maze_toy --policy tabular-world-model{given} --episodes 100 --output {path}", path)
        record = read_record(path)
        assert isinstance(record, RunRecord)
        card = record.scorecard
        rows.append((card.success_rate, card.average_steps_to_success, card.average_planning_latency_ms))
    (oracle, steps, fast), (learned, learned_steps, slow) = rows
    took = f"a decision takes {slow / fast:.1f} times as long (documents: 66 times, 177 ms against 2.7)"
    return (
        f"\nMaze, random shooting 200x20, 100 episodes: success {oracle:.3f} with the table and {learned:.3f} with the "
        f"MLP (documents: 1 and 1), {steps:.1f} and {learned_steps:.1f} steps; {took}."
    )


def coverage() -> str:
    """Acrobot from the fixed start: where the data went, and where the oracle's plans go."""
    folder = RUNS / "acrobot-gap"
    done(GAP, folder / "cpg.json")
    record = read_record(folder / "cpg.json")
    assert isinstance(record, CPGRecord)
    rows = ["| states | documents: n, mean, max, above 1.0, above 1.5 | here |", "|---|---|---|"]
    theirs = {"dmc_acrobot-fixed-2000's data": "2,000, -.503, .865, 0%, 0%", "oracle": "846, .161, 1.866, 20.2%, 12.2%"}
    for name, said in theirs.items():
        one = record.coverage[name]
        assert one is not None
        ours = f"{one.states:,}, {one.mean:.3f}, {one.most:.3f}, {one.above_half:.1%}, {one.above_three_quarters:.1%}"
        rows.append(f"| {name} | {said} | {ours} |")
    return "\n".join(rows)


def main() -> int:
    RUNS.mkdir(parents=True, exist_ok=True)
    oracles, learned = ([line(arm) for arm in arms] for arms in (ORACLES, LEARNED))
    models = {arm.model.command for arm in LEARNED if arm.model is not None}
    commands = "\n".join([*(arm.command for arm in ORACLES), *sorted(models), *(arm.command for arm in LEARNED), GAP])
    oracle_table, learned_table = TABLE + "\n".join(oracles), TABLE + "\n".join(learned)
    parts = [WORDS, "## Oracle arms" + oracle_table, LEARNED_WORDS + learned_table, ERROR_WORDS, held_out_errors()]
    parts += [COVERAGE_WORDS, coverage(), maze()]
    PAGE.write_text("\n".join(parts) + f"\n\n```\n{commands}\n```\n")
    print(PAGE.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
