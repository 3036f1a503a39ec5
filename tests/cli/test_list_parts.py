from wmel.catalog import CATALOGUE


def test_every_part_is_listed_with_what_it_is(wmel_command):
    done = wmel_command("list")
    assert done.returncode == 0
    for kind, registry in CATALOGUE.items():
        assert f"\n{kind}\n" in done.stdout
        for name, part in registry.parts.items():
            assert name in done.stdout and part.summary in done.stdout


def test_one_kind_can_be_asked_for(wmel_command):
    done = wmel_command("list", "planners")
    assert "random-shooting" in done.stdout and "maze_toy" not in done.stdout


def test_an_unknown_kind_is_one_clear_line(wmel_command):
    done = wmel_command("list", "plans")
    assert done.returncode == 2 and "did you mean 'planners'? kinds: environments, policies, planners" in done.stderr
