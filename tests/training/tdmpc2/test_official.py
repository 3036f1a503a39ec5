"""Files of both published layouts, written here name by name and read back."""

import math
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.models.tdmpc2.by_hand import SMALL, layers, random_network, simplices, under
from wmel.errors import BadInput
from wmel.models.tdmpc2.network import SIZES, TDMPC2, NetworkShape, Tasks
from wmel.training.tdmpc2.official import official_network, read_official

ODD = NetworkShape(encoder=20, hidden=28, latent=24, encoder_layers=4, critics=3)
LAYOUTS = ("old", "new", "new with sizes")
PARTS = ("weight", "bias", "ln.weight", "ln.bias")


def published(network: TDMPC2, layout: str) -> dict:
    """The state dict of a network under the names of the published code."""
    named = {}
    begins = {"encoder.": "_encoder.state.", "dynamics.": "_dynamics.", "reward.": "_reward.", "policy.": "_pi."}
    begins |= {"embedding.": "_task_emb.", "masks": "_action_masks"}
    for name, value in network.state_dict().items():
        value = value.clone()
        if not name.startswith("critics.layers."):
            begin = next(begin for begin in begins if name.startswith(begin))
            named[begins[begin] + name[len(begin) :]] = value
            continue
        place, part = name.removeprefix("critics.layers.").split(".", 1)
        if layout == "old":
            number = 4 * int(place) + PARTS.index(part)
            named |= {f"_Qs.params.{number}": value, f"_target_Qs.params.{number}": value + 1}
        else:
            named |= {f"_Qs.params.{place}.{part}": value, f"_detach_Qs_params.{place}.{part}": value}
            named[f"_target_Qs_params.{place}.{part}"] = value + 1
    if layout != "old":
        named |= {"log_std_min": torch.tensor(-10.0), "log_std_dif": torch.tensor(12.0)}
    if layout == "new with sizes":
        for begin in ("_Qs.params", "_detach_Qs_params", "_target_Qs_params"):
            named |= {f"{begin}.__batch_size": torch.Size([3]), f"{begin}.__device": torch.device("cpu")}
    return named


def critics_of(file: dict, member: int) -> dict[str, np.ndarray]:
    """One critic out of the file's own tensors, in either layout."""
    found = under({name: value for name, value in file.items() if "__" not in name}, "_Qs.params.", member)
    if not all(name.isdecimal() for name in found):
        return found
    return {f"{int(name) // 4}.{PARTS[int(name) % 4]}": value for name, value in found.items()}


def saved(path: Path, file: object, wrapped: bool = True) -> Path:
    torch.save({"model": file} if wrapped else file, path)
    return path


def rows(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.as_tensor(np.random.default_rng(seed).normal(size=shape), dtype=torch.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("tasks", [None, Tasks(3, 6)], ids=["one task", "three tasks"])
def test_a_file_says_what_its_own_tensors_say(layout, wrapped, tasks, tmp_path):
    """Against numpy in float64, from the tensors under their published names."""
    file = published(random_network(7, 3, ODD, tasks=tasks), layout)
    network = read_official(saved(tmp_path / "file.pt", file, wrapped))
    seen, acted = rows(6, 7), rows(6, 3, seed=1).tanh()
    known = np.zeros((6, 0))
    if tasks is not None:
        network.task = 1
        embedding = file["_task_emb.weight"][1].double().numpy()
        known = np.tile(embedding / max(1, np.linalg.norm(embedding)), (6, 1))
    latents = layers(under(file, "_encoder.state."), np.concatenate([seen.double().numpy(), known], 1), last=simplices)
    close = {"rtol": 1e-3, "atol": 2e-4}
    np.testing.assert_allclose(network.encode(seen), latents, **close)
    now, aware = torch.as_tensor(latents, dtype=torch.float32), np.concatenate([latents, known], 1)
    inputs = np.concatenate([aware, acted.double().numpy()], 1)
    np.testing.assert_allclose(
        network.next(now, acted), layers(under(file, "_dynamics."), inputs, last=simplices), **close
    )
    np.testing.assert_allclose(network.reward_logits(now, acted), layers(under(file, "_reward."), inputs), **close)
    valued = [layers(critics_of(file, member), inputs) for member in range(ODD.critics)]
    np.testing.assert_allclose(network.value_logits(now, acted), valued, **close)
    mean, log_deviation = network.policy_distribution(now)
    policy = layers(under(file, "_pi."), aware)
    np.testing.assert_allclose(mean, policy[:, :3], **close)
    np.testing.assert_allclose(log_deviation, -10 + 6 * (np.tanh(policy[:, 3:]) + 1), **close)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("shape", "tasks"), [(SIZES[1], None), (SIZES[5], None), (ODD, None), (SMALL, Tasks(2, 4))],
    ids=["1", "5", "odd", "several tasks"],
)  # fmt: skip
def test_sizes_are_read_off_the_tensors(layout, shape, tasks):
    network = official_network({"model": published(random_network(17, 6, shape, tasks=tasks), layout)})
    assert (network.shape, network.observation, network.action) == (shape, 17, 6)
    assert (network.embedding is not None) is (tasks is not None)
    assert not network.training and not any(weight.requires_grad for weight in network.parameters())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_weight_comes_back(layout):
    inputs = random_network(tasks=Tasks(3, 4))
    made = official_network(published(inputs, layout)).state_dict()
    assert made.keys() == inputs.state_dict().keys()
    assert all(torch.equal(made[name], value) for name, value in inputs.state_dict().items())


def test_a_task_acts_with_its_own_numbers_alone():
    """Whatever the rest of an action is, it changes nothing, and the policy leaves it at zero."""
    file = published(random_network(tasks=Tasks(2, 4)), "new")
    file["_action_masks"] = torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    network = official_network(file)
    latents, acted = rows(6, SMALL.latent), rows(6, 2)
    other = acted * torch.tensor([1.0, -3.0])
    for network.task in (0, 1):
        same = torch.equal(network.value_logits(latents, acted), network.value_logits(latents, other))
        mean, log_deviation = network.policy_distribution(latents)
        assert same is (network.task == 1) and bool(mean[:, 0].all()) and log_deviation[:, 0].isfinite().all()
        assert bool((mean[:, 1] == 0).all() and (log_deviation[:, 1].exp() == 0).all()) is (network.task == 1)


def test_where_a_file_has_no_masks_every_task_uses_every_number():
    file = published(random_network(tasks=Tasks(3, 4)), "old")
    del file["_action_masks"]
    assert torch.equal(official_network(file).masks, torch.ones(3, 2))


@pytest.mark.parametrize("layout", ["old", "new"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_numbers_of_another_kind_are_read_as_float32(layout, dtype):
    file = {name: value.to(dtype) for name, value in published(random_network(), layout).items()}
    made = official_network(file)
    assert {weight.dtype for weight in made.parameters()} == {torch.float32}
    assert torch.isfinite(made.encode(rows(2, 5))).all()


@pytest.mark.parametrize("layout", ["old", "new"])
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("_pi.1.ln.bias", "policy.1.ln.bias"), ("_encoder.state.1.bias", "encoder.1.bias"),
     ("_reward.2.bias", "reward.2.bias"), ("_dynamics.2.weight", "dynamics.2.weight"),
     ("_reward.2.weight", "reward.2.weight"), ("_encoder.state.0.weight", "encoder.0.weight")],
)  # fmt: skip
def test_what_is_missing_is_named(layout, theirs, ours):
    file = published(random_network(), layout)
    del file[theirs]
    with pytest.raises(BadInput, match=rf"file\.pt.*{ours.replace('.', '[.]')}"):
        official_network(file, "file.pt")


@pytest.mark.parametrize(("layout", "key"), [("old", "_Qs.params.3"), ("new", "_Qs.params.0.ln.bias")])
def test_what_the_critics_miss_is_named(layout, key):
    file = published(random_network(), layout)
    del file[key]
    with pytest.raises(BadInput, match=r"critics\.layers\.0\.ln\.bias is missing"):
        official_network(file)


@pytest.mark.parametrize(
    ("layout", "key", "named"),
    [("new", "_termination.0.weight", "_termination.0.weight"), ("old", "_Qs.params.10", "critics.layers.2.ln.weight"),
     ("new", "_pi.3.weight", "policy.3.weight"), ("new", "_dynamics.2.extra", "dynamics.2.extra")],
)  # fmt: skip
def test_what_is_more_than_a_network_has_is_named(layout, key, named):
    file = published(random_network(), layout) | {key: torch.zeros(3)}
    with pytest.raises(BadInput, match=named):
        official_network(file)


@pytest.mark.parametrize(
    ("key", "named"),
    [("_pi.0.ln.weight", "policy.0.ln.weight"), ("_reward.1.weight", "reward.1.weight"),
     ("_Qs.params.1.bias", "critics.layers.1.bias"), ("_encoder.state.1.weight", "encoder.1.weight")],
)  # fmt: skip
def test_a_wrong_shape_is_named(key, named):
    file = published(random_network(), "new")
    file[key] = torch.zeros(*file[key].shape[:-1], file[key].shape[-1] + 1)
    with pytest.raises(BadInput, match=f"{named}.*instead of"):
        official_network(file)


def test_of_several_differences_the_first_is_named():
    file = published(random_network(), "new")
    del file["_reward.1.bias"], file["_pi.1.bias"], file["_encoder.state.0.ln.bias"]
    with pytest.raises(BadInput, match=r"encoder\.0\.ln\.bias is missing"):
        official_network(file)


@pytest.mark.parametrize(
    ("key", "value"),
    [("_dynamics.2.weight", torch.zeros(())), ("_encoder.state.0.weight", torch.zeros(3)),
     ("_Qs.params.0.weight", torch.zeros(())), ("_dynamics.0.weight", torch.zeros(24)),
     ("_reward.2.weight", torch.zeros(51, 24)), ("_dynamics.0.weight", torch.zeros(24, 16)),
     ("_task_emb.weight", torch.zeros(3)), ("_dynamics.2.weight", torch.zeros(12, 24)),
     ("_dynamics.0.weight", [[1.0]]), ("_task_emb.weight", torch.zeros(3, 1, 1))],
    ids=lambda value: value if isinstance(value, str) else str(tuple(getattr(value, "shape", "list"))),
)  # fmt: skip
def test_sizes_no_network_has_are_refused(key, value):
    with pytest.raises(BadInput):
        official_network(published(random_network(), "new") | {key: value})


@pytest.mark.parametrize(
    "stored", [None, 3, [1, 2], torch.zeros(3), {}, {"model": 3}, {"model": {}}, {1: torch.zeros(2)}]
)
def test_what_is_no_dictionary_of_weights_is_refused(stored):
    with pytest.raises(BadInput, match="the checkpoint"):
        official_network(stored)


def test_weights_that_are_no_numbers_are_refused():
    file = published(random_network(), "new")
    file["_reward.1.weight"][0, 0] = math.nan
    with pytest.raises(BadInput):
        official_network(file)


def test_a_tensor_that_claims_more_numbers_than_it_holds_is_refused():
    """It would take four terabytes to write out."""
    file = published(random_network(), "new")
    file["_encoder.state.0.weight"] = torch.zeros(1).expand(10**6, 10**6)
    with pytest.raises(BadInput, match=r"_encoder\.state\.0\.weight.*\(1000000, 1000000\)"):
        official_network(file)


class Writes:
    """What a pickle would run on being read."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.write_text, (self.path, "it ran")


@pytest.mark.parametrize("by_torch", [True, False])
@pytest.mark.parametrize("deep", [True, False])
def test_code_in_a_file_is_refused_and_never_run(by_torch, deep, tmp_path):
    ran, path = tmp_path / "ran", tmp_path / "file.pt"
    content = {"model": {**published(random_network(), "new"), "_pi.0.bias": Writes(ran)}} if deep else Writes(ran)
    if by_torch:
        torch.save(content, path)
    else:
        path.write_bytes(pickle.dumps(content, protocol=2))
    with pytest.raises(BadInput, match=r"file\.pt.*code"):
        read_official(path)
    assert not ran.exists()


@pytest.mark.parametrize(
    "content", [b"", b"these are words\n", b"PK\x03\x04", b"\x80\x02.", bytes(range(256)) * 40], ids=range(5)
)
def test_a_file_that_is_no_checkpoint_is_refused(content, tmp_path):
    path = tmp_path / "file.pt"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"file\.pt"):
        read_official(path)


def test_half_a_file_is_refused(tmp_path):
    path = saved(tmp_path / "file.pt", published(random_network(), "new"))
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(BadInput, match=r"file\.pt"):
        read_official(path)


@pytest.mark.parametrize("name", ["", "missing.pt", "missing/file.pt"])
def test_a_folder_or_nothing_is_refused(name, tmp_path):
    with pytest.raises(BadInput, match="cannot read"):
        read_official(tmp_path / name)


def test_an_encoder_of_pictures_is_refused():
    file = published(random_network(), "new")
    pictures = {name.replace("_encoder.state.", "_encoder.rgb."): value for name, value in file.items()}
    with pytest.raises(BadInput, match=r"encoder\.0\.weight"):
        official_network(pictures)
