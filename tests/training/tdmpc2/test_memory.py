"""Memory that is really asked for and really not there: petabytes, which no allocator begins to hand out."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.training.tdmpc2.short_trainings import CPU, SETTINGS, WORLD, interrupt_training
from wmel.errors import BadInput
from wmel.training.tdmpc2.replay import explain_out_of_memory
from wmel.training.tdmpc2.resume import TrainingState
from wmel.training.tdmpc2.train import train_tdmpc2

PETA = 10**15
TOO_MUCH = {"envs": 10**6, "updates": 10**9}  # each the largest that is accepted: 10 petabytes of episodes


def out_of_memory(settings, where: str = "this machine", online: bool = True) -> str:
    replay = f", or --envs ({settings.envs}) or --updates ({settings.updates}), which determine the stored episodes"
    words = f"{where} ran out of memory: lower --batch ({settings.batch}), which an update requires"
    return f"{words}{replay if online else ''}, or --size (1)"


def test_a_training_too_large_for_this_machine_names_what_takes_memory():
    settings = replace(SETTINGS, **TOO_MUCH)
    with pytest.raises(BadInput) as raised:
        train_tdmpc2(WORLD, settings, CPU)
    assert str(raised.value) == out_of_memory(settings)


@pytest.mark.parametrize("online", [True, False], ids=str)
def test_memory_of_arrays_counts_too(online):
    with pytest.raises(BadInput) as raised, explain_out_of_memory(SETTINGS, online=online):
        np.empty(PETA)
    assert str(raised.value) == out_of_memory(SETTINGS, online=online)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("CUDA error: out of memory"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ],
    ids=str,
)
def test_memory_of_the_device_is_called_that(error):
    with pytest.raises(BadInput) as raised, explain_out_of_memory(SETTINGS):
        raise error
    assert str(raised.value) == out_of_memory(SETTINGS, "the device")


def shapes_that_do_not_fit():
    torch.zeros(2, 3) @ torch.zeros(2, 3)


def division():
    return 1 // 0


def test_a_training_that_cannot_be_taken_up_for_want_of_memory_is_not_called_damaged(tmp_path):
    """Who believed that would remove what could go on elsewhere."""
    interrupt_training(tmp_path, 1)
    request = {"envs": SETTINGS.envs}
    with pytest.raises(BadInput) as raised, explain_out_of_memory(SETTINGS):
        TrainingState(tmp_path).resume(request, lambda snapshot: torch.empty(PETA))
    assert str(raised.value) == out_of_memory(SETTINGS)


@pytest.mark.parametrize(("fault", "kind"), [(shapes_that_do_not_fit, RuntimeError), (division, ZeroDivisionError)])
def test_other_faults_pass_through(fault, kind):
    with pytest.raises(kind) as raised, explain_out_of_memory(SETTINGS):
        fault()
    assert not isinstance(raised.value, BadInput) and "memory" not in str(raised.value)


def test_where_there_is_enough_nothing_happens():
    with explain_out_of_memory(SETTINGS):
        made = torch.zeros(3)
    assert made.shape == (3,)
