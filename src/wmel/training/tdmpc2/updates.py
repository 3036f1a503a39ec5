"""Updates one after the other; on a GPU, once captured, the host only says go."""

from collections.abc import Callable

from wmel.training.tdmpc2.graph import WARM_UPS, captured
from wmel.training.tdmpc2.learner import Learner
from wmel.training.tdmpc2.replay import Replay


class Updates:
    """Of a learner on what a replay holds; `done` counts them."""

    def __init__(self, learner: Learner, replay: Replay):
        self.learner, self.replay, self.done = learner, replay, 0
        self._captured: Callable[[], None] | None = None

    def until(self, wanted: int, at_most: int) -> None:
        """So many in all; capturing takes some more at once where that leaves them below `at_most`."""
        while self.done < wanted:
            if self._captured is None and self.learner.capturable and at_most - self.done >= WARM_UPS:
                self._captured = captured(self._one)
                self.done += WARM_UPS
            else:
                (self._captured or self._one)()
                self.done += 1

    def _one(self) -> None:
        self.learner.update(*self.replay.sample(self.learner.settings.batch))
