"""A study file is read whole, or refused with the place of what is wrong."""

import random
import tomllib
from pathlib import Path

import pytest

from tests.conftest import IS_FULL, says
from tests.experiments.studies import LEARNED, MAZE, read_study, written
from wmel import catalog
from wmel.contract.trainer import ProgressListener
from wmel.errors import BadInput, WmelError
from wmel.experiments.build import ModelPaths
from wmel.experiments.check import check_cells
from wmel.experiments.expand import study_of, trainings_of
from wmel.training.checkpoints import read_card, restore

MUTATIONS = 500 if IS_FULL else 150
PAPER = sorted((Path(__file__).parents[2] / "studies" / "paper").glob("*.toml"))


def test_sweeps_and_seeds_spread_out_to_cells(tmp_path):
    cells = study_of(read_study(written(tmp_path, MAZE))).cells
    assert len(cells) == 2 * (1 + 2 * 2)  # seeds x (floor + horizons x (oracle, model))
    assert len({cell.key for cell in cells}) == len(cells)
    assert {cell.labels.get("plan_horizon") for cell in cells if cell.arm.planner} == {5, 10}
    oracle, learned = (
        [cell for cell in cells if cell.arm.name == arm and cell.labels.get("plan_horizon") == 5]
        for arm in ("oracle", "still")
    )
    assert [cell.setting for cell in oracle] == [cell.setting for cell in learned]


def test_the_key_of_a_cell_is_of_what_decides_its_rows(tmp_path):
    def keys(text):
        return {cell.key for cell in study_of(read_study(written(tmp_path, text))).cells}

    assert keys(MAZE) == keys(MAZE.replace("episodes = 12", "episodes = 30").replace('name = "maze"', 'name = "x"'))
    assert keys(MAZE) == keys(MAZE.replace("block = 5", "block = 7"))
    assert not keys(MAZE) & keys(MAZE.replace("horizon = 40", "horizon = 41"))


def test_retrained_models_go_with_the_episodes_of_their_seed(tmp_path):
    cells = [cell for cell in study_of(read_study(written(tmp_path, LEARNED))).cells if cell.arm.name == "mlp"]
    assert [(cell.seed, cell.arm.model["trainer"]["seed"]) for cell in cells] == [(0, 0), (1, 1)]
    assert len(trainings_of(cells)) == 2


def test_kept_checkpoints_are_arms_of_one_training(tmp_path):
    text = LEARNED.replace("epochs = 20", "checkpoints = [1, 20]")
    cells = study_of(read_study(written(tmp_path, text))).cells
    assert {cell.arm.name for cell in cells} == {"random", "oracle", "mlp@1", "mlp@20"}
    assert len(trainings_of(cells)) == 2  # one for each seed
    assert {cell.labels.get("epochs") for cell in cells if cell.arm.model} == {1, 20}


@pytest.mark.parametrize("kind", ["mlp", "latent-mlp"])
def test_checkpoints_on_the_way_are_of_one_training(kind, tmp_path):
    """Those of an MLP, whose learning rate is constant, are what a shorter training gives."""
    world = catalog.environment("dmc_cartpole")
    recipe = {"transitions": 200, "episode_steps": 50}
    whole = catalog.TRAINERS.build(kind, checkpoints=[2, 5], **recipe)
    made = whole.train(world, tmp_path / "whole", ProgressListener())
    kept = {at: restore(tmp_path / "whole" / "checkpoints" / f"{at:07d}", world) for at in (2, 5)}
    assert made.card["fit"]["epochs_taken"] == 5
    assert kept[5].spec.weights == made.model.spec.weights != kept[2].spec.weights
    card = read_card(tmp_path / "whole" / "checkpoints" / "0000002")
    assert card["fit"]["epochs_taken"] == 2 and len(card["curve"]) == 2
    short = catalog.TRAINERS.build(kind, epochs=2, **recipe).train(world, tmp_path / "short", ProgressListener())
    assert (short.model.spec.weights == kept[2].spec.weights) == (kind == "mlp")


@pytest.mark.parametrize("listed", [{"checkpoints": [3], "epochs": 2}, {"checkpoints": [3], "patience": 2}])
def test_checkpoints_that_cannot_be_are_refused(listed):
    with pytest.raises(BadInput, match="checkpoints"):
        catalog.TRAINERS.build("mlp", **listed)


def test_defaults_written_out_are_the_same_cells(tmp_path):
    def keys(text):
        return {cell.key for cell in study_of(read_study(written(tmp_path, text))).cells}

    assert keys(MAZE.replace("candidates = 20", "candidates = 50")) == keys(MAZE.replace("candidates = 20\n", ""))


def test_a_checkpoint_is_known_by_what_it_holds(tmp_path):
    def keys():
        text = MAZE.replace('object = "tests.experiments.still:dynamics"', 'checkpoint = "model"')
        return {cell.key for cell in study_of(read_study(written(tmp_path, text))).cells if cell.arm.name == "still"}

    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights.safetensors").write_bytes(b"weights")
    (tmp_path / "model" / "card.json").write_text("{}")
    first = keys()
    (tmp_path / "model" / "card.json").write_text('{"target": "next"}')
    assert not keys() & first


@pytest.fixture
def of_checkpoint(tmp_path):
    """The cells of a checkpoint in a study whose model has more keys."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights.safetensors").write_bytes(b"weights")
    (tmp_path / "model" / "card.json").write_text("{}")

    def cells(*lines: str):
        text = MAZE.replace('object = "tests.experiments.still:dynamics"', "\n".join(['checkpoint = "model"', *lines]))
        return [cell for cell in study_of(read_study(written(tmp_path, text))).cells if cell.arm.model is not None]

    return cells


def test_keys_that_results_are_stored_by_stay(tmp_path, of_checkpoint):
    stored = ["e8ee03d2382ebd71", "8f6b9bea1ec93843", "cbd11d1a30ed366e", "a20726433a8f4e23"]
    assert [cell.key for cell in of_checkpoint()] == stored
    learned = study_of(read_study(written(tmp_path, LEARNED))).cells
    assert [cell.key for cell in learned if cell.arm.name == "mlp"] == ["899636c4d861427c", "3cec07dd062898e3"]


def test_how_a_model_imagines_and_acts_is_part_of_its_cells_and_not_of_their_setting(of_checkpoint):
    uses = [
        "",
        "rollout = 'decoded'",
        "policy = 'native'",
        "policy = 'prior'",
        "rollout = 'decoded'\npolicy = 'native'",
    ]
    made = [of_checkpoint(use) for use in uses]
    assert len({cell.key for cells in made for cell in cells}) == len(uses) * len(made[0])
    assert len({tuple(cell.setting for cell in cells) for cells in made}) == 1
    usual = of_checkpoint("rollout = 'latent'")
    assert [cell.key for cell in usual] == [cell.key for cell in made[0]]  # a default written out is the same cell


def test_ways_to_imagine_can_be_swept_with_a_training_of_their_own_for_none(tmp_path):
    text = LEARNED.replace("epochs = 20", "epochs = 20\nrollout = { sweep = ['latent', 'decoded'] }")
    cells = study_of(read_study(written(tmp_path, text))).cells
    assert {cell.arm.name for cell in cells} == {"random", "oracle", "mlp[rollout=latent]", "mlp[rollout=decoded]"}
    assert len(trainings_of(cells)) == 2  # of the two seeds


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_every_study_of_the_papers_can_be_run(path):
    cells = study_of(read_study(path)).cells
    check_cells(cells, ModelPaths(path.parent, path.parent), needs_criterion=True)
    assert {"oracle", "random"} < {cell.arm.name for cell in cells}


def before_planners(text):
    return "[[planners]]", f"{text}\n[[planners]]"


MANY = "\n".join(f"{key} = {{ sweep = {list(range(1, 400))} }}" for key in ("candidates", "execute"))
BOTH = 'trainer = "mlp"\nepochs = 3\ncheckpoints = [4]'
DECODED, SPOKEN = ('trainer = "mlp"\nrollout = "' + way + '"' for way in ("decoded", "spoken"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("episodes = 12", "episodes = 0"), "episodes: must be above 0, got 0"),
        (("episodes = 12", "episodes = 'many'"), "episodes: must be ... 'many'"),
        (
            ("episodes = 12", "epsodes = 12"),
            "study has ... 'epsodes'; ... 'episodes'?",
        ),
        (("seeds = [0, 1]", "seeds = [0, 0]"), "seeds: each may be"),
        (("seeds = [0, 1]", "seeds = [10000]"), "seeds.0: must be 0 to 9999"),
        (('name = "maze_toy"', 'name = "maze_toi"'), "did you mean 'maze_toy'?"),
        (
            ("plan_horizon = {", "plan_horizn = {"),
            "'plan_horizn'; did you ... 'plan_horizon'?",
        ),
        (("[5, 10]", "[]"), "planners[0].plan_horizon.sweep: a list of"),
        (("[5, 10]", "[5, 'ten']"), "plan_horizon ... 1, got 'ten'"),
        (('object = "', 'checkpoint = "x"\nobject = "'), "models[0]: a model is"),
        (('object = "tests.experiments.still:dynamics"', 'checkpoint = "nowhere"'), "nowhere is no checkpoint"),
        (('object = "tests.experiments.still:dynamics"', 'trainer = "mlpp"'), "no trainer named 'mlpp'"),
        (('name = "still"', 'name = "oracle"'), "arm of every study"),
        (('name = "maze"', 'name = "maze'), r"TOML: ... '\n' ... 2, ... 13)"),
        (("[[planners]]", "[planners]"), "as a [[planners]] table"),
        (('[[environments]]\nname = "maze_toy"', ""), "environments: at least one"),
        (
            ("candidates = 20", "candidates = nan"),
            "candidates must be ... 1,",
        ),
        (('name = "random-shooting"', 'name = "ceem"'), "did you mean 'cem'?"),
        (
            before_planners("[[perturbations]]\nname = 'drop-nxt-1'"),
            "perturbations[0]: no perturbation named",
        ),
        (before_planners("[[criteria]]\nsuccess = 'often'"), "criteria[0]: 'often' is not"),
        (before_planners("[[models]]\nname = 'still'\ntrainer = 'mlp'"), "two are called 'still'"),
        (("horizon = 40", "horizon = 40\nobjectives = ['uprigt']"), "objectives[0]: no objective named 'uprigt'"),
        (("candidates = 20", MANY), "planners[0]: its sweeps ... 100,000"),
        (('object = "tests.experiments.still:dynamics"', BOTH), "beyond the 3 epochs"),
        (('object = "', 'rollout = "decoded"\nobject = "'), "belongs to a checkpoint"),
        (('object = "tests.experiments.still:dynamics"', DECODED), "has only one rollout"),
        (
            ('object = "tests.experiments.still:dynamics"', SPOKEN),
            "leave out rollout 'spoken'",
        ),
        (('object = "', 'policy = "prior"\nobject = "'), "still/seed-0: dynamics has no"),
        (('object = "', 'policy = "native"\nobject = "'), "native needs an object"),
        (
            ('object = "', 'policy = "cem"\nobject = "'),
            "models[0]: no policy ... 'cem';",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(wmel_command, tmp_path, change, words):
    assert change[0] in MAZE
    path = written(tmp_path, MAZE.replace(*change, 1))
    done = wmel_command("study", str(path), "--output", str(tmp_path / "out"))
    assert done.returncode == 2 and says(done.stderr, words), done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "out").exists()


def mutated(text: str, rng: random.Random) -> str:
    """A study file with a slip or a piece of malice in it."""
    lines = text.splitlines()
    place = rng.randrange(len(lines))
    junk = [
        "",
        "\x00",
        "[[",
        "= = =",
        "x" * 5000,
        "name = 3",
        "seeds = [1e400]",
        "episodes = -1",
        "[[planners]]",
        "é = 'ü'",
    ]
    values = [
        "nan",
        "inf",
        "-1",
        "0",
        "1e999",
        "{}",
        "[]",
        "'x'",
        "{ sweep = 5 }",
        "{ sweep = [{}] }",
        "true",
        "9" * 40,
    ]
    kind = rng.randrange(6)
    if kind == 0:
        lines[place] = rng.choice(junk)
    elif kind == 1 and "=" in lines[place]:
        lines[place] = f"{lines[place].split('=')[0]}= {rng.choice(values)}"
    elif kind == 2:
        del lines[place]
    elif kind == 3:
        lines.insert(place, rng.choice(lines))
    elif kind == 4:
        word = lines[place]
        lines[place] = (
            word[: rng.randrange(len(word) + 1)] + rng.choice("#\"'[]{}=\\\t\n") + word[rng.randrange(len(word) + 1) :]
        )
    else:
        rng.shuffle(lines)
    return "\n".join(lines)


@pytest.mark.full
def test_no_mutation_of_a_study_file_is_a_traceback(tmp_path):
    """Each is a study, or one error of ours."""
    rng, refused = random.Random(0), 0
    sources = [MAZE, LEARNED, *(path.read_text() for path in PAPER)]
    for _ in range(MUTATIONS):
        text = mutated(rng.choice(sources), rng)
        for _ in range(rng.randrange(3)):
            text = mutated(text, rng)
        path = tmp_path / "study.toml"
        path.write_text(text)
        try:
            cells = study_of(read_study(path)).cells
            check_cells(cells[:6], ModelPaths(tmp_path, tmp_path), needs_criterion=True)
        except WmelError as error:
            refused += 1
            assert str(error).strip()
    assert 0.2 < refused / MUTATIONS < 1


def test_a_study_is_refused_before_it_fills_the_memory(tmp_path):
    many = "seeds = [" + ", ".join(str(seed) for seed in range(5000)) + "]"
    text = MAZE.replace("seeds = [0, 1]", many).replace("[5, 10]", str(list(range(1, 200))))
    assert tomllib.loads(text)
    with pytest.raises(WmelError, match="are the most"):
        study_of(read_study(written(tmp_path, text)))


def test_a_checkpoint_for_each_seed_goes_with_the_episodes_of_its_seed(tmp_path):
    for seed, text in ((0, "a"), (1, "b")):
        for name in ("weights.safetensors", "card.json"):
            path = tmp_path / f"td-seed{seed}" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    model = '[[models]]\nname = "td"\ncheckpoint = "td-seed{seed}"\nseeds = [0, 1]\n'
    text = LEARNED[: LEARNED.index("[[models]]")] + model + LEARNED[LEARNED.index("[[planners]]") :]
    cells = [cell for cell in study_of(read_study(written(tmp_path, text))).cells if cell.arm.name == "td"]
    assert [(cell.seed, cell.arm.model["checkpoint"]) for cell in cells] == [(0, "td-seed0"), (1, "td-seed1")]
    assert cells[0].arm.model["files"] != cells[1].arm.model["files"]
    with pytest.raises(WmelError, match=r"\{seed\} in its name\)"):
        read_study(written(tmp_path, text.replace("seeds = [0, 1]\n[[pl", "[[pl")))
    with pytest.raises(WmelError, match=r"need \{seed\} in its name"):
        read_study(written(tmp_path, text.replace("td-seed{seed}", "td-seed0")))
