"""docs/when-to-trust.md quotes what wmel prints and links to what exists; tests/end_to_end runs its commands."""

import re
from pathlib import Path

import pytest

from tests.glossary.outputs import printed
from wmel.glossary.lookup import find

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "when-to-trust.md").read_text(encoding="utf-8")
SYMPTOMS = re.findall(r"\*\*You see\*\*(.*?)\n- \*\*Why", PAGE, flags=re.DOTALL)
QUOTED = [" ".join(one.split()) for symptom in SYMPTOMS for one in re.findall(r"`([^`]+)`", symptom)]
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, flags=re.DOTALL) for line in block.splitlines()]


def test_the_page_has_symptoms_and_commands():
    assert len(SYMPTOMS) == PAGE.count("\n### ") > 15 and len(COMMANDS) > 15


@pytest.mark.parametrize("quotation", QUOTED)
def test_what_the_page_quotes_is_what_wmel_prints(quotation):
    for piece in quotation.split("..."):
        assert piece.strip(" ,:") in printed(), piece


@pytest.mark.parametrize("word", ["gap", "ESNR", "alignment", "MODEL BOTTLENECK"])
def test_the_page_is_what_a_word_says_to_read_on_or_says_what_a_word_means(word):
    assert find(word)[0].page in ("when-to-trust.md", "esnr.md")


def test_every_link_leads_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target


def test_every_finding_that_is_cited_exists():
    findings = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    cited = re.findall(r"\[findings (\d+)\]", PAGE)
    assert len(cited) > 5 and all(f"\n## {number}. " in findings for number in cited)
