import torch

from tests.cli.test_train import own_worlds  # noqa: F401
from tests.training.tdmpc2.test_official import published
from wmel.models.tdmpc2.network import SIZES, TDMPC2


def test_a_published_file_is_converted_and_plans(wmel_command, own_worlds):  # noqa: F811
    torch.save({"model": published(TDMPC2(5, 1, SIZES[1]), "old")}, own_worlds / "official.pt")
    line = "convert official.pt --env worlds:short --decoder-steps 5 --half --output models/published"
    done = wmel_command(*line.split(), cwd=own_worlds)
    assert done.returncode == 0, done.stderr
    assert "return of its policy" in done.stdout and "checkpoint: models/published" in done.stdout
    line = "run --env worlds:short --policy prior --model models/published --episodes 2"
    done = wmel_command(*line.split(), cwd=own_worlds)
    assert done.returncode == 0, done.stderr


def test_a_file_that_is_none_is_refused_in_one_line(wmel_command, own_worlds):  # noqa: F811
    (own_worlds / "text.pt").write_text("no checkpoint")
    done = wmel_command(*["convert", "text.pt", "--env", "worlds:short", "--output", "no"], cwd=own_worlds)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "text.pt" in done.stderr
