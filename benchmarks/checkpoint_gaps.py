"""The gap at every checkpoint of trainings: plans a study of them, runs it and writes what `--beside` reads.

python benchmarks/checkpoint_gaps.py runs/offline/full-seed? runs/offline/basic-seed? --output runs/gaps
wmel esnr over-training runs/offline/full-seed? ... --beside runs/gaps/gaps-full.csv
"""

import argparse
import csv
import sys
from pathlib import Path

from wmel.cli.main import app
from wmel.cli.over_training_inputs import runs_of
from wmel.errors import BadInput
from wmel.reports.study_envelope import StudyRecord

SETTING = """name = "cartpole: every checkpoint of {count} trainings"
episodes = {episodes}

[[environments]]
name = "dmc_cartpole"
init = "task"

[[planners]]
name = "random-shooting"
candidates = 50
plan_horizon = 15

[[planners]]
name = "cem"
plan_horizon = 15
"""
MODEL = """
[[models]]
name = "{run}@{updates}"
checkpoint = "{folder}"
"""
COLUMNS = {"random-shooting": "cpg under random shooting", "cem": "cpg under cem"}


def study_of(runs: dict[str, dict[int, Path]], episodes: int) -> str:
    """Every checkpoint of every run as a model."""
    models = [
        MODEL.format(run=run, updates=updates, folder=folder.resolve())
        for run, known in runs.items()
        for updates, folder in known.items()
    ]
    return SETTING.format(count=len(runs), episodes=episodes) + "".join(models)


def gaps_of(record: StudyRecord) -> dict[tuple[str, int], dict[str, float]]:
    """By run and updates: the gap under each planner."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for comparison in record.comparisons:
        planner = next(name for name in COLUMNS if f"/{name}" in comparison.name)
        for model, gap in comparison.gaps.items():
            run, _, updates = model.partition("@")
            found.setdefault((run, int(updates)), {})[COLUMNS[planner]] = round(gap.gap, 6)
    return dict(sorted(found.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="outputs of wmel train tdmpc2 --checkpoints N")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    study, results = asked.output / "study.toml", asked.output / "report"
    asked.output.mkdir(parents=True, exist_ok=True)
    try:
        study.write_text(study_of(runs_of(asked.runs), asked.episodes))
    except BadInput as error:
        parser.error(str(error))
    run = ["study", str(study), "--output", str(asked.output / "store"), "--executor", "processes", "--keep"]
    for command in ([*run, "--device", asked.device], ["report", run[3], "--output", str(results)]):
        app(command, standalone_mode=False)
    gaps = gaps_of(StudyRecord.model_validate_json((results / "results.json").read_text()))
    for cell in sorted({run.rpartition("-")[0] for run, _ in gaps}):
        path = asked.output / f"gaps-{cell}.csv"
        with path.open("w", newline="") as file:
            lines = csv.DictWriter(file, ["run", "updates", *COLUMNS.values()])
            lines.writeheader()
            mine = {key: row for key, row in gaps.items() if key[0].rpartition("-")[0] == cell}
            lines.writerows({"run": run, "updates": updates, **row} for (run, updates), row in mine.items())
        print(f"gaps: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
