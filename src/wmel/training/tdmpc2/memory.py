"""Memory that runs out is said in terms of what can be asked for."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from wmel.errors import BadInput
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

ON_THE_HOST = ("can't allocate memory", "calculation overflowed", "Overflow when unpacking")
ON_THE_DEVICE = ("CUDA error: out of memory", "ALLOC_FAILED")


@contextmanager
def enough_memory(settings: TDMPC2Trainer, *, playing: bool = True) -> Iterator[None]:
    """Where a device or the host has no memory left, name the settings that take it."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise _told(settings, "the device", playing) from error
    except MemoryError as error:
        raise _told(settings, "this machine", playing) from error
    except (RuntimeError, TypeError) as error:
        for where, said in (("this machine", ON_THE_HOST), ("the device", ON_THE_DEVICE)):
            if any(words in str(error) for words in said):
                raise _told(settings, where, playing) from error
        raise


def _told(settings: TDMPC2Trainer, where: str, playing: bool) -> BadInput:
    kept = f", or --envs ({settings.envs}) or --updates ({settings.updates}), by which the episodes kept grow"
    return BadInput(
        f"{where} ran out of memory: lower --batch ({settings.batch}), which a step of learning takes"
        f"{kept if playing else ''}, or --size ({settings.size})"
    )
