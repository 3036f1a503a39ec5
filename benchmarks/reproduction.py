"""Published figures beside ours: from the committed results of studies/paper, writes docs/reproduction.md."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wmel.reports.envelopes import StudyRecord
from wmel.reports.json_envelope import CPGRecord
from wmel.reports.records import read_record
from wmel.stats.estimate import two_sided_z
from wmel.stats.power import binomial_table
from wmel.stats.proportions import miettinen_nurminen, score
from wmel.training.checkpoints import read_card

RESULTS, STORES, RUNS = Path("results"), Path("runs/paper"), Path("runs/reproduction")
PAGE = Path("docs/reproduction.md")
WORDS = """# Reproduction: published figures beside ours

After this page you know which published figures `wmel` reproduces. Published are those of the CPG paper (acrobot from
the fixed start under random shooting, and under CEM with plans of 15 steps, also with dropped actions; cartpole from
the fixed start) and of the wmel 0.18 repository (all others); see [sources](sources.md). [Findings](findings.md)
discusses what differs.

Every row is an arm of a study in `studies/paper/`, whose results are in `results/`. Episodes cannot be equal one by
one, because random numbers follow from the episode here and from the run there; the rates must agree within their
uncertainty. Episodes take at most 500 steps and stop at the first success, as published.

- "Difference" is our rate minus the published one, with the 95% score interval of Miettinen and Nurminen.
- "Could see" is the smallest difference that these numbers of episodes would show with a probability of 80%, by exact
  enumeration. It is measured from the published rate towards .5.
- Arms called mlp are MLPs (64-64, predicting the absolute next observation). They are fitted to 20,000 random
  transitions unless the name has another number, and retrained for each seed.
- Arms called td1 and td5 are the TD-MPC2 checkpoints of `models/`, sizes 1 and 5 (size 1 on cartpole: three training
  seeds), decoded at every step, as published.

`make reproduction` runs what is missing of the studies (about three hours on two cores, two of them for TD-MPC2) and
writes `results/` and this page.
"""
TABLE = """
| study | setting | arm | published | here | difference | could see | agree |
|---|---|---|---|---|---|---|---|
"""
NOTES = """
**MLPs.** In the CPG paper the cartpole MLPs are fitted to data of its TD-MPC2, ours to random actions; the data of the
reacher MLPs are not stated. For cartpole the published MLPs succeed in 0 to 2 of 30; the table shows 0. Two questions
of the CPG paper have no published figure: reacher under perturbation (`results/reacher-perturbed`) and the exploration
sweep (`results/exploration`).

**TD-MPC2.** A rate is that of one training, and the published trainings are others than ours (1 million steps on
cartpole; on acrobot .5 million or 2 million, as two sources differ). On acrobot all rows agree but two: with plans of a
single step the published model succeeds in .887 and ours never; with plans of 30 steps the published model never
succeeds and ours in 4 of 150. On cartpole no row agrees: ours succeed more often than the published ones, and more
often than the oracle, at both sizes ([findings 21](findings.md)).
"""
COVERAGE_WORDS = """
Uprightness of visited states, acrobot from the fixed start (the oracle of the CPG paper executes one action of each
plan, ours the whole plan, as in the gap itself):
"""
ERROR_WORDS = """
Held-out errors of the acrobot models (fixed start), mean over three retrained seeds:
"""
AT_20 = "maze_toy/random-shooting-20-200"
RANDOM_SHOOTING, CEM = "random-shooting-15-50", "cem-15"


@dataclass(frozen=True)
class Row:
    """An arm of a study, and the published count."""

    study: str
    setting: str
    arm: str
    successes: int
    episodes: int


HORIZONS = {1: 150, 5: 150, 10: 150, 15: 132, 20: 134, 30: 30}
DROPS, NOISES = {0: 44, 1: 45, 5: 41}, {"0": 44, "0.01": 44, "0.05": 42, "0.1": 40}
TD1, TD5 = "td1[rollout=decoded]", "td5[rollout=decoded]"  # as published
TDMPC2_HORIZONS, TDMPC2_NOISES = {1: 133, 5: 0, 10: 0, 15: 0, 20: 0, 30: 0}, {"0": 0, "0.01": 0, "0.05": 1, "0.1": 0}
PLACES = [(init, planner) for init in ("fixed", "task") for planner in (RANDOM_SHOOTING, CEM)]
TDMPC2_CARTPOLE = {
    ("tdmpc2-cartpole", TD1): dict(zip(PLACES, (15, 16, 9, 11), strict=True)),
    ("tdmpc2-cartpole-size5", TD5): dict(zip(PLACES, (6, 4, 23, 22), strict=True)),
}
ROWS = [
    Row("acrobot-pooled", f"dmc_acrobot-fixed/{RANDOM_SHOOTING}", "oracle", 40, 150),
    *(
        Row("acrobot-pooled", f"dmc_acrobot-fixed/{RANDOM_SHOOTING}", f"mlp[transitions={n}]", 0, 150)
        for n in (200, 2000, 20000)
    ),
    *(Row("acrobot-cem-horizon", f"dmc_acrobot-fixed/cem-{h}", "oracle", s, 150) for h, s in HORIZONS.items()),
    Row("acrobot-cem-horizon", f"dmc_acrobot-fixed/{CEM}", "mlp", 0, 150),
    *(Row("acrobot-drop-next", f"dmc_acrobot-fixed/{CEM}/drop-next-{k}", "oracle", s, 50) for k, s in DROPS.items()),
    *(Row("acrobot-drop-next", f"dmc_acrobot-fixed/{CEM}/drop-next-{k}", "mlp", 0, 50) for k in DROPS),
    *(
        Row("acrobot-observation-noise", f"dmc_acrobot-fixed/{CEM}/observation-noise-{sigma}-from-0", arm, s, 50)
        for arm in ("oracle", "mlp")
        for sigma, s in (NOISES if arm == "oracle" else dict.fromkeys(NOISES, 0)).items()
    ),
    Row("acrobot-task-starts", f"dmc_acrobot-task/{RANDOM_SHOOTING}", "oracle", 1, 10),
    Row("acrobot-task-starts", f"dmc_acrobot-task/{RANDOM_SHOOTING}", "mlp", 1, 10),
    Row("acrobot-task-starts", f"dmc_acrobot-task/{CEM}", "oracle", 5, 150),
    Row("acrobot-task-starts", f"dmc_acrobot-task/{CEM}", "mlp", 3, 150),
    Row("cartpole", f"dmc_cartpole-fixed/{RANDOM_SHOOTING}", "oracle", 27, 30),
    Row("cartpole", f"dmc_cartpole-fixed/{CEM}", "oracle", 15, 30),
    Row("cartpole", f"dmc_cartpole-fixed/{RANDOM_SHOOTING}", "mlp", 0, 30),
    Row("cartpole", f"dmc_cartpole-fixed/{CEM}", "mlp", 0, 30),
    Row("cartpole", f"dmc_cartpole-task/{RANDOM_SHOOTING}", "oracle", 28, 30),
    Row("cartpole", f"dmc_cartpole-task/{CEM}", "oracle", 14, 30),
    Row("cartpole", f"dmc_cartpole-task/{RANDOM_SHOOTING}", "mlp", 0, 30),
    *(Row("tdmpc2-acrobot-horizon", f"dmc_acrobot-fixed/cem-{h}", TD1, s, 150) for h, s in TDMPC2_HORIZONS.items()),
    *(
        Row("tdmpc2-acrobot-noise", f"dmc_acrobot-fixed/{CEM}/observation-noise-{sigma}-from-0", TD1, s, 50)
        for sigma, s in TDMPC2_NOISES.items()
    ),
    Row("tdmpc2-acrobot-task", f"dmc_acrobot-task/{CEM}", TD1, 4, 150),
    *(
        Row(study, f"dmc_cartpole-{init}/{planner}", arm, s, 30)
        for (study, arm), found in TDMPC2_CARTPOLE.items()
        for (init, planner), s in found.items()
    ),
    Row("reacher", f"dmc_reacher/{RANDOM_SHOOTING}", "oracle", 30, 30),
    Row("reacher", f"dmc_reacher/{CEM}", "oracle", 30, 30),
    Row("reacher", f"dmc_reacher/{RANDOM_SHOOTING}", "mlp", 21, 30),
    Row("reacher", f"dmc_reacher/{CEM}", "mlp", 20, 30),
    Row("maze", "maze_toy/random-shooting-5-200", "oracle", 0, 1000),
    Row("maze", "maze_toy/random-shooting-10-200", "oracle", 1482, 1500),
    Row("maze", "maze_toy/random-shooting-15-200", "oracle", 1000, 1000),
    Row("maze", "maze_toy/random-shooting-20-200", "oracle", 1000, 1000),
    Row("maze", "maze_toy/random-shooting-30-200", "oracle", 1000, 1000),
]
ERRORS = {200: 0.0651, 2000: 0.0233, 20000: 0.0004}  # of the acrobot models of the CPG paper, held out by transition
TRAINING = "wmel train mlp --env dmc_acrobot --init fixed --transitions 2000 --output runs/reproduction/acrobot-2000"
GAP = (
    "wmel cpg --env dmc_acrobot --init fixed --model runs/reproduction/acrobot-2000 --episodes 10 "
    "--output runs/reproduction/acrobot-gap"
)


def smallest_seen(rate: float, theirs: int, ours: int) -> float | None:
    """The smallest difference, towards a rate of .5, that so many episodes there and here show with probability .8."""
    one, other = np.arange(theirs + 1.0)[:, None], np.arange(ours + 1.0)
    shown = np.abs(score(one, np.array(float(theirs)), other, np.array(float(ours)), 0.0)) > two_sided_z(0.95)
    for hundredths in range(1, 100):
        moved = rate + hundredths / 100 * (-1 if rate > 0.5 else 1)
        mass = binomial_table(theirs, rate)[:, None] * binomial_table(ours, moved)
        if (mass * shown).sum() >= 0.8:
            return hundredths / 100
    return None


def result_of(study: str) -> StudyRecord:
    return StudyRecord.model_validate_json((RESULTS / study / "results.json").read_text())


def keyed(setting: str) -> str:
    """A setting as results since schema 2.1 name it: with the keys of what differs from the defaults."""
    for old, new in (
        (r"-fixed\b", "-init=fixed"),
        (r"(dmc_\w+)-task\b", r"\1"),
        (r"random-shooting-15-50", "random-shooting"),
        (r"random-shooting-15-200", "random-shooting-candidates=200"),
        (r"random-shooting-(\d+)-200", r"random-shooting-candidates=200-plan_horizon=\1"),
        (r"cem-15\b", "cem"),
        (r"cem-(\d+)", r"cem-plan_horizon=\1"),
        (r"drop-next-1\b", "drop-next"),
        (r"drop-next-(\d+)", r"drop-next-k=\1"),
        (r"observation-noise-0\.1-from", "observation-noise-from"),
        (r"observation-noise-0-from", "observation-noise-sigma=0.0-from"),
        (r"observation-noise-(0\.\d+)-from", r"observation-noise-sigma=\1-from"),
    ):
        setting = re.sub(old, new, setting)
    return setting


def names(setting: str) -> tuple[str, ...]:
    """What results of either schema may call a setting; a swept one is named even at its default."""
    return setting, keyed(setting), *(f"{keyed(setting)}/{swept}" for swept in ("plan_horizon=15", "init=task"))


def line(row: Row, record: StudyRecord) -> str:
    (comparison,) = [one for one in record.comparisons if one.name in names(row.setting)]
    card = comparison.scorecards[row.arm]
    assert card.success_rate is not None
    successes, episodes = round(card.success_rate * card.episodes), card.episodes
    low, high = miettinen_nurminen(successes, episodes, row.successes, row.episodes)
    seen = smallest_seen(row.successes / row.episodes, row.episodes, episodes)
    shares = [f"{s / n:.3f} ({s}/{n})" for s, n in ((row.successes, row.episodes), (successes, episodes))]
    agree = "yes" if low <= 0 <= high else "**no**"
    cells = [row.study, row.setting, row.arm, *shares, f"[{low:+.3f}, {high:+.3f}]", f"{seen:.2f}", agree]
    return f"| {' | '.join(cells)} |"


def held_out_errors() -> str:
    """Acrobot: the error that the CPG paper reports, and the open-loop error that it does not."""
    cards = [read_card(path.parent) for path in (STORES / "acrobot-pooled" / "models").glob("*/card.json")]
    rows = [
        "| transitions | CPG paper, one step (mse) | here, one step (mse) | here, after 15 steps (rms) |",
        "|---|---|---|---|",
    ]
    for transitions, theirs in ERRORS.items():
        errors = [card["errors"] for card in cards if card["data"]["transitions"] == transitions]
        step = np.mean([one["held_out_transition_mse"] for one in errors])
        drift = np.mean([one["open_loop_rmse"][14] for one in errors])
        rows.append(f"| {transitions:,} | {theirs:.4f} | {step:.4f} | {drift:.2f} |")
    return "\n".join(rows)


def coverage() -> str:
    """Acrobot from the fixed start: where the data went, and where the oracle's plans go."""
    for command, result in ((TRAINING, RUNS / "acrobot-2000/card.json"), (GAP, RUNS / "acrobot-gap/cpg.json")):
        if not result.exists():
            subprocess.run([sys.executable, "-m", *command.split(), "--quiet"], check=True)
    record = read_record(RUNS / "acrobot-gap" / "cpg.json")
    assert isinstance(record, CPGRecord)
    rows = ["| states | CPG paper: n, mean, max, above 1.0, above 1.5 | here |", "|---|---|---|"]
    theirs = {"acrobot-2000's data": "2,000, -.503, .865, 0%, 0%", "oracle": "846, .161, 1.866, 20.2%, 12.2%"}
    for name, published in theirs.items():
        one = record.coverage[name]
        assert one is not None
        ours = f"{one.states:,}, {one.mean:.3f}, {one.most:.3f}, {one.above_half:.1%}, {one.above_three_quarters:.1%}"
        rows.append(f"| {name} | {published} | {ours} |")
    return "\n".join(rows)


def maze(record: StudyRecord) -> str:
    """The learned maze of the wmel 0.18 repository: the same success as the table, for more time per decision."""
    (at_20,) = [one for one in record.comparisons if one.name in names(AT_20)]
    fast, slow = (at_20.scorecards[arm].average_planning_latency_ms or 0 for arm in ("oracle", "mlp"))
    learned = at_20.scorecards["mlp"]
    return (
        f"\nMaze, random shooting 200x20: the MLP succeeds in {learned.success_rate:.3f} of {learned.episodes} "
        f"episodes (published: 1); a decision takes {slow / fast:.1f} times as long as with the table (published: 66)."
    )


def main() -> int:
    records = {study: result_of(study) for study in dict.fromkeys(row.study for row in ROWS)}
    rows = [line(row, records[row.study]) for row in ROWS]
    commands = "\n".join(["make reproduction", TRAINING, GAP])
    parts = [WORDS, TABLE.strip("\n") + "\n" + "\n".join(rows), NOTES, ERROR_WORDS, held_out_errors(), COVERAGE_WORDS]
    parts += [coverage(), maze(records["maze"])]
    PAGE.write_text("\n".join(parts) + f"\n\n```bash\n{commands}\n```\n")
    print(PAGE.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
