"""The rewards of a block of episodes, step by step."""

import numpy as np


class Earnings:
    """Rewards [B, steps so far]; the room for them doubles as episodes go on."""

    def __init__(self, episodes: int):
        self.rewards = np.zeros((episodes, 0))

    def add(self, rows: np.ndarray, step: int, rewards: np.ndarray) -> None:
        """What some episodes earned at a step, counted from 1."""
        if step > self.rewards.shape[1]:
            self.rewards = np.concatenate([self.rewards, np.zeros((len(self.rewards), step))], axis=1)
        self.rewards[rows, step - 1] = rewards

    def close(self, columns: dict[str, np.ndarray], rows: np.ndarray, steps: int, *, whole: bool) -> None:
        """Write what episodes that end after so many steps have earned; whole episodes have a return."""
        if not self.rewards.size:
            return
        for row in rows:
            columns["rewards"][row] = self.rewards[row, :steps].copy()
        if whole:
            columns["return"][rows] = self.rewards[rows, :steps].sum(axis=1)
