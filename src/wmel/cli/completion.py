"""Shell completion: which words were typed so far, and the names that complete a word."""

import os
import shlex
from collections.abc import Callable, Collection, MutableMapping

VARIABLE = "_WMEL_COMPLETE"  # set by the shell that requests completions
WORDS, PLACE = "COMP_WORDS", "COMP_CWORD"  # bash
LINE = "_TYPER_COMPLETE_ARGS"  # zsh, fish and PowerShell


def typed_words(verbs: Collection[str], environ: MutableMapping[str, str] = os.environ) -> list[str]:
    """The words after `wmel` that a shell asks to complete; a verb of two words becomes one, in the variables too."""
    line = environ.get(WORDS, environ.get(LINE, ""))
    words = _split(line)
    verb = " ".join(words[1:3])
    is_beyond = WORDS not in environ or int(environ.get(PLACE, "0")) > 2
    if len(words) > 2 and verb in verbs and is_beyond:
        words = [words[0], verb, *words[3:]]
        end = " " if line.endswith(" ") else ""
        environ[WORDS if WORDS in environ else LINE] = shlex.join(words) + end
        if PLACE in environ:
            environ[PLACE] = str(int(environ[PLACE]) - 1)
    return words[1:]


def names_of(*kinds: str) -> Callable[[str], list[str]]:
    """A completion by the names of parts of some kinds, of presets, of the kinds themselves, or of words explained."""

    def complete(incomplete: str) -> list[str]:
        return [name for kind in kinds for name in _names(kind) if name.startswith(incomplete)]

    return complete


def _names(kind: str) -> Collection[str]:
    from wmel.catalog import CATALOGUE, PRESETS

    if kind == "words":
        from wmel.glossary.lookup import names

        return names()
    named = {**{name: registry.parts for name, registry in CATALOGUE.items()}, "presets": PRESETS}
    return named if kind == "kinds" else named[kind]


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quotation that is not closed yet
        return line.split()
