"""How a comparison of models looks on the screen."""

from wmel.cli.screen import console, table
from wmel.cli.shown_results import setting_words
from wmel.reports.entries import estimate_from
from wmel.reports.json_envelope import CPGEntry, CPGRecord, ScorecardEntry
from wmel.reports.study_envelope import StudyRecord
from wmel.reports.words import bounds, number
from wmel.stats.estimate import Estimate


def print_comparison(record: CPGRecord, *, paper_first: bool = False) -> None:
    """The arms, then for each model its gap, what it is called and why."""
    setting = record.setting
    print(f"{setting.episodes} episodes of at most {setting.horizon} steps: {setting_words(setting)}")
    if record.max_episodes is not None:
        print(f"pairs were added until each gap was decided or given up, at most {record.max_episodes}")
    rows = table(
        "name", "success", "95% CI", "steps", "compute/decision", "latency_ms", "return", "pre-solved", "errors"
    )
    for name, card in record.scorecards.items():
        rows.add_row(name, *_arm(card))
    console().print(rows)
    _print_coverage(record)
    for name, entry in record.cpgs.items():
        _print_gap(name, entry, paper_first=paper_first)


def print_study(record: StudyRecord) -> None:
    """Every gap of a study in a line, and what is not there."""
    for entry in record.comparisons:
        for model, gap in entry.gaps.items():
            interval = f"[{gap.gap_ci_low:+.3f}, {gap.gap_ci_high:+.3f}]"
            print(f"{entry.name} {model}: gap {gap.gap:+.3f} {interval} {gap.verdict}")
    print(f"{record.episodes} episodes; {len(record.missing)} cells not whole, {len(record.refused)} refused")
    for line in record.refused:
        print(f"  {line}")


def _arm(card: ScorecardEntry) -> list[str]:
    def of(metric: str) -> Estimate:
        return estimate_from(card.estimates[metric])

    return [
        number(of("success_rate")),
        bounds(of("success_rate")),
        number(of("average_steps_to_success"), 1),
        number(of("average_compute_per_decision"), 1),
        number(of("average_planning_latency_ms"), 2),
        number(of("average_return"), 1),
        number(of("pre_solved_rate")),
        number(of("error_rate")),
    ]


def _print_gap(name: str, entry: CPGEntry, *, paper_first: bool) -> None:
    print(f"\n{name}: gap {entry.gap:+.3f} [{entry.gap_ci_low:+.3f}, {entry.gap_ci_high:+.3f}] ({entry.gap_method})")
    rules = sorted(entry.verdicts, key=lambda rule: (rule == "paper") != paper_first)
    for rule in rules:
        print(f"  {entry.verdicts[rule].label} ({rule}): {entry.verdicts[rule].reason}")
    paper, loss, back = entry.agresti_caffo, estimate_from(entry.relative_loss), estimate_from(entry.return_gap)
    if paper is not None:
        print(f"  agresti-caffo [{max(paper.low, -1):+.3f}, {min(paper.high, 1):+.3f}]")
    if entry.oracle_only is not None and entry.mid_p.value is not None:
        pairs = f"{entry.oracle_only} pairs only the oracle solves, {entry.learned_only} only the model"
        print(f"  {pairs}; mid-p {entry.mid_p.value:.2g}")
    print(f"  relative loss {number(loss)} {bounds(loss)}{'' if loss.is_defined else f' ({loss.reason})'}")
    split = ", ".join(f"{share:.3f} by {cause}" for cause, share in entry.failure_split.items())
    print(f"  failures of the model's arm: {split}")
    if back.is_defined:
        print(f"  return gap {number(back, 1)} {bounds(back, 1)} ({back.method})")


def _print_coverage(record: CPGRecord) -> None:
    """Where states were visited, where that has a name."""
    seen = {name: one for name, one in record.coverage.items() if one is not None}
    if not seen:
        return
    rows = table("name", "states", "mean", "max", "above 1/2", "above 3/4")
    for name, one in seen.items():
        shares = (f"{one.above_half:.1%}", f"{one.above_three_quarters:.1%}")
        rows.add_row(name, str(one.states), f"{one.mean:.3f}", f"{one.most:.3f}", *shares)
    print(f"\n{next(iter(seen.values())).axis} of visited states (shares above half and three quarters of the way up)")
    console().print(rows)
