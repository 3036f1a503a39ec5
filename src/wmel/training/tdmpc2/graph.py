"""An update, sampling included, as one CUDA graph: the host says go and nothing else."""

from collections.abc import Callable

import torch

WARM_UPS = 3


def captured(update: Callable[[], None]) -> Callable[[], None]:
    """A function that replays `update`; its first calls, needed to allocate, are real updates."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UPS):
            update()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        update()
    return graph.replay
