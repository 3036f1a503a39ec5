"""A number with its interval, or the reason why there is none."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """`value` is None where the quantity is undefined, and then `reason` says why; bounds may be missing alone."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    method: str = ""
    reason: str = ""

    @classmethod
    def undefined(cls, reason: str, n: int = 0) -> "Estimate":
        return cls(value=None, n=n, reason=reason)

    @property
    def is_defined(self) -> bool:
        return self.value is not None
