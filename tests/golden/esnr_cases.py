"""Golden ESNR values: each estimator at a few states, of the true dynamics and of a latent-mlp."""

from collections.abc import Callable, Mapping
from typing import Any

import wmel
from tests.golden import adapters
from tests.golden.setting import Numbers


def _esnr(environment: str, method: str, objective: str, kind: str | None = None) -> Callable[[], Mapping[str, Any]]:
    def compute() -> dict[str, Any]:
        model = None if kind is None else adapters.train_model(environment, kind)
        return {"esnr": adapters.measure_esnr(wmel.environment(environment), model, method, objective)}

    return compute


ESNR_CASES = {
    **{
        f"esnr {method} oracle": Numbers(_esnr("dmc:cartpole-swingup", method, "smooth-upright"), "physics")
        for method in ("fog", "zog", "cem")
    },
    **{
        f"esnr {method} latent-mlp": Numbers(_esnr("dmc:cartpole-swingup", method, "model-reward", "latent-mlp"))
        for method in ("fog", "zog", "cem")
    },
    "esnr zog levels": Numbers(_esnr("dmc_cartpole", "zog", "upright"), "physics"),
    "esnr cem levels": Numbers(_esnr("dmc_cartpole", "cem", "upright"), "physics"),
}
