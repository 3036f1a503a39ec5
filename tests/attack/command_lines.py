"""Mangled command lines, made from the options that the verbs declare."""

import inspect
from functools import cache
from random import Random

from tests.attack.cases import Case, safe_text
from tests.attack.fixtures import ESNR, INPUTS, TINY, Fixtures
from tests.attack.values import TEXTS, mangled_text
from wmel.api.options import Option
from wmel.api.verbs import mark_of
from wmel.cli.main import VERBS
from wmel.parts import import_object

NAME = "command lines"
PROMISE = "a wrong word is one line and exit 2; nothing else happens"
BASES = (
    f"run --env maze_toy --policy random-shooting {TINY}",
    "run --env maze_toy --policy random --episodes 2 --horizon 3",
    f"run --env two_room_toy --policy cem {TINY} --iterations 1 --elites 1 --perturb-prob 0.5 --metric success@2",
    f"run --env maze_toy --policy cem --model tests.experiments.truth:model {TINY} --output out.json",
    "run --env dmc:cartpole-swingup --policy random --episodes 1 --horizon 2 --criterion reward>=0.6",
    "sweep --env maze_toy --plan-horizons 1,2 --episodes 1 --horizon 2 --candidates 2",
    f"sweep --env maze_toy --policy cem --sweep planner.elites=1,2 {TINY}",
    f"cpg --env maze_toy --model tests.experiments.still:dynamics {TINY}",
    f"cpg --env maze_toy --model net {TINY} --output out",
    "diagnose prediction-error --env maze_toy --model net --states 2 --steps 2",
    ESNR,
    "esnr toy --speeds 5 --seeds 2",
    "esnr over-training net --env maze_toy --output out",
    "train mlp --env maze_toy --epochs 1 --output out",
    "train latent-mlp --env dmc:cartpole-swingup --transitions 20 --epochs 1 --output out",
    "train tdmpc2 --env dmc:cartpole-swingup --updates 1 --output out",
    "convert binary --env dmc:cartpole-swingup --output out",
    "study study.toml --limit 1",
    "study study.toml --dry-run",
    "report store",
    "report run.json --output out",
    "compare run.json run.json",
    "compare store store --fail-if-worse 0.1",
    "show run.json",
    "show store",
    "power --oracle 0.9 --learned 0.5",
    "power --oracle 0.5 --learned 0.3 --paired --phi 0.3 --n 50",
    "check success@20",
    "check maze_toy",
    "list",
    "list cem",
    "explain gap",
    "explain planner.elites",
    "doctor",
)
HEAVY = ("processes",)  # words that start real work
CORPUS = tuple(
    (*base.split(), *more)
    for base, more in (
        ("", ()),
        ("--help", ()),
        ("--version", ()),
        ("nothing", ()),
        ("run --env maze_toy --policy random --episodes", ("1" + "0" * 20,)),
        ("run --env maze_toy --policy random --episodes 1 --seed", ("-1",)),
        ("run --env maze_toy --policy random --episodes 1 --horizon", ("1" + "0" * 20,)),
        ("study study.toml --limit", ("-1",)),
        ("study study.toml --limit", ("1" + "0" * 20,)),
        ("study", ("/dev/zero",)),
        ("show", ("/dev/zero",)),
        ("show", ("deep.json",)),
        ("show", ("loop",)),
        ("report", ("loop",)),
        ("compare", ("loop", "loop")),
        ("study", ("a\x00b",)),
        ("show", ("a\x00b",)),
        ("show", ("\udcff",)),
        ("show", ("\x1b[31mred",)),
        ("explain", ("\x1b[31mred",)),
        ("list", ("\udcff",)),
        ("check", ("\x1b]0;title\x07",)),
        ("run --env maze_toy --policy random --episodes 1 --layout", ("/dev/zero",)),
        ("run --env maze_toy --policy random --episodes 1 --output", ("a\x00b",)),
        ("run --env maze_toy --policy random --episodes 1 --output", ("x" * 300,)),
        ("run --env maze_toy --policy random --episodes 1 --output", ("loop/out.json",)),
        ("run --env maze_toy --policy random --episodes 1 --trajectories", ("loop/out.npz",)),
        ("run --env maze_toy --policy random --episodes 1 --markdown", ("/dev/full",)),
        ("run --env maze_toy --policy random --episodes 1 --output", ("/dev/full",)),
        ("train mlp --env maze_toy --output out --transitions", ("1" + "0" * 20,)),
        *((f"run --policy random --episodes 1 --env {name}", ()) for name in ("builtins:dict", "os:getcwd", "math:pi")),
        *((f"run --env maze_toy --episodes 1 --policy {name}", ()) for name in ("builtins:dict", "json:loads", "a:b")),
        *(
            (f"cpg --env maze_toy --episodes 1 --model {name}", ())
            for name in ("builtins:dict", "builtins:int", "re:I")
        ),
        *((f"check {name}", ()) for name in ("builtins:dict", "os:getcwd", "math:pi", "typing:Any", "builtins:print")),
        *((f"list {name}", ()) for name in ("builtins:dict", "os:getcwd", "math:pi", "typing:Any", "builtins:print")),
        *((f"explain {name}", ()) for name in ("builtins:dict", "os:getcwd", "a:b", "math:pi")),
    )
)


@cache
def flags_of(verb: str) -> tuple[tuple[str, str], ...]:
    """The flags of a verb and the kind of their values."""
    found = []
    for name, parameter in inspect.signature(import_object(VERBS[verb][0])).parameters.items():
        option = mark_of(parameter)
        if option is None or (isinstance(option, Option) and option.is_argument):
            continue
        kind = option.kind if isinstance(option, Option) else "setting"
        flags = option.flags if isinstance(option, Option) and isinstance(option.flags, tuple) else ()
        found += [(flag, kind) for flag in (f"--{name.replace('_', '-')}", *flags)]
    return (*found, ("--json", "flag"), ("--debug", "flag"), ("--help", "flag"))


def case(number: int, rng: Random, fixtures: Fixtures) -> Case:
    """The line of a number: those of the corpus first."""
    words = list(CORPUS[number]) if number < len(CORPUS) else _mangled_line(rng)
    words = [safe_text(word) for word in words if word not in HEAVY and word != "--debug"]
    return Case(tuple(words), INPUTS, fixtures.some(words))


def _mangled_line(rng: Random) -> list[str]:
    words = rng.choice(BASES).split()
    verb = " ".join(words[:2]) if " ".join(words[:2]) in VERBS else words[0]
    for _ in range(rng.randint(1, 3)):
        values = [
            place for place in range(1, len(words)) if words[place - 1].startswith("--") and "=" not in words[place]
        ]
        flag, kind = rng.choice(flags_of(verb))
        value, how = rng.choice(TEXTS), rng.randrange(20)
        if how < 8 and values:
            words[rng.choice(values)] = value
        elif how < 16:
            words += [flag] if kind == "flag" else [f"{flag}={value}"]
        elif how < 18 and values:
            place = rng.choice(values)
            words[place] = mangled_text(words[place], rng)
        elif how < 19:
            words.insert(rng.randint(0, len(words)), value)
        elif words:
            del words[rng.randrange(len(words))]
    if rng.random() < 0.02:
        words[:1] = [mangled_text(verb, rng)]
    return words
