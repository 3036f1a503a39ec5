"""The sentences about gaps, read back into their numbers; a sentence that does not parse is an error."""

import re
from dataclasses import dataclass

from wmel.reports.answers import Advice

NUMBER, RATE = r"[+-][\d.e+-]+", r"\d\.\d\d"
RANGE = rf"{RATE}(?: to {RATE})?"
MEASURED = (
    rf"\((?P<episodes>[^;()]+); gap (?P<gap>{NUMBER}) \[(?P<low>{NUMBER}), (?P<high>{NUMBER})\]"
    r"(?:, which (?P<how>[a-z ]+) for (?P<count>\d+) comparisons)?\)"
)
SEEN = (
    rf"(?P<name>\S.*?) succeeds in (?P<learned>{RATE}) of episodes where "
    rf"(?P<reference>the true dynamics give|the same planner on the true dynamics gives) (?P<oracle>{RATE})"
)
LISTED = rf"success (?P<learned>{RATE}) where the true dynamics give (?P<oracle>{RATE})"
WHY = (
    r"(?P<unseen>the oracle itself fails|the oracle is not shown to beat random actions|random actions succeed as well)"
    rf" \((?:the oracle )?(?P<oracle>{RATE}) of (?P<n_oracle>[\d,]+) episodes?"
    rf"(?: against (?P<floor>{RATE}) of (?P<n_floor>[\d,]+))?\)"
)
BLIND = rf"{WHY}; (?P<name>\S.*?) succeeds in (?P<learned>{RATE})"
WHERE = r"(?:on [^,]+(?:, planned with \w+)?(?: \([^)]*\))?, )?"
FORMS = [re.compile(rf"(?P<advice>[^:]+): {WHERE}{body} {MEASURED}(?P<rest>.*)") for body in (SEEN, LISTED, BLIND)]
PHRASES = {
    "may be planned with": Advice.YES,
    "at least as well": Advice.YES,
    "may not be planned with": Advice.NO,
    "worse": Advice.NO,
    "cannot be judged yet": Advice.UNKNOWN,
    "cannot be judged": Advice.BLIND,
}
CLAUSE = re.compile(
    r"(?P<phrase>may be planned with|may not be planned with|cannot be judged yet|cannot be judged|"
    r"does at least as well|do at least as well|does worse|do worse)(?P<own> by their own policies)?"
    r"(?: in (?:(?P<part>\d+) of|both of|all of|either of|any of) (?P<whole>\d+) (?:settings|comparisons))?"
    r"(?P<weak>, where the reference is weak)?(?: because (?P<unseen>[a-z0 ]+?))?"
    rf" \(success (?P<learned>{RANGE}) where the true dynamics give (?P<oracle>{RANGE})"
    r"(?:, about (?P<few>[\d,]+)(?: to (?P<many>[\d,]+))? fresh (?:pairs|episodes per arm) would decide)?\)"
)
PAPER = "By the rule of the CPG paper: "


def whole_number(text: str | None) -> int:
    """The number that a text such as 1,000 stands for."""
    return int((text or "").replace(",", ""))


@dataclass(frozen=True)
class GapSentence:
    """What a sentence about one gap states; None where it does not."""

    advice: Advice
    found: dict[str, str | None]
    rest: str  # the remarks

    def __getitem__(self, name: str) -> str | None:
        return self.found.get(name)


def parse_gap(sentence: str) -> GapSentence:
    """The only form of a sentence about one gap that fits."""
    found = [match for match in (form.fullmatch(sentence) for form in FORMS) if match is not None]
    assert len(found) == 1, f"{len(found)} forms fit: {sentence}"
    parts = found[0].groupdict()
    return GapSentence(Advice(parts.pop("advice")), parts, parts.pop("rest"))


@dataclass(frozen=True)
class Clause:
    """What several gaps of one advice come to."""

    advice: Advice
    acts: bool | None  # None: the phrase does not tell
    part: int | None
    whole: int | None
    reasons: set[str]
    wanted: tuple[int, int] | None
    learned: str
    oracle: str


def parse_clauses(text: str) -> list[Clause]:
    """Every clause of a sentence about several gaps."""
    return [_clause(match.groupdict()) for match in CLAUSE.finditer(text)]


def _clause(found: dict[str, str]) -> Clause:
    phrase = re.sub(r"^do(es)? ", "", found["phrase"])
    acts = phrase != found["phrase"] or found["own"] is not None or (None if "judged" in phrase else False)
    advice = Advice.WEAK if found["weak"] else PHRASES[phrase]
    numbers = (None if found[name] is None else int(found[name]) for name in ("part", "whole"))
    reasons = set((found["unseen"] or "").split(" or ")) - {""}
    wanted = None if found["few"] is None else (whole_number(found["few"]), whole_number(found["many"] or found["few"]))
    return Clause(advice, acts, *numbers, reasons, wanted, found["learned"], found["oracle"])


def split_paper(answer: str) -> tuple[str, str]:
    """The strict answer, and the sentence by the rule of the CPG paper behind it."""
    strict, _, paper = answer.partition(f" {PAPER}")
    return strict, paper
