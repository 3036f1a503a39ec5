"""Memory that runs out is said in terms of what can be asked for."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from wmel.errors import BadInput
from wmel.training.tdmpc2.settings import TDMPC2Settings

TORCH_SAYS = ("can't allocate memory", "calculation overflowed", "Overflow when unpacking")  # on the host


@contextmanager
def enough_memory(settings: TDMPC2Settings) -> Iterator[None]:
    """Where a device or the host has no memory left, name the settings that take it."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise _told(settings, "the device") from error
    except MemoryError as error:
        raise _told(settings, "this machine") from error
    except (RuntimeError, TypeError) as error:
        if not is_want_of_memory(error):
            raise
        raise _told(settings, "this machine") from error


def is_want_of_memory(error: Exception) -> bool:
    """Whether that is what torch means."""
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in TORCH_SAYS)


def _told(settings: TDMPC2Settings, where: str) -> BadInput:
    return BadInput(
        f"{where} ran out of memory: lower --batch ({settings.batch}), which a step of learning takes, or --envs "
        f"({settings.envs}) or --updates ({settings.updates}), by which the episodes kept grow, or --size "
        f"({settings.size})"
    )
