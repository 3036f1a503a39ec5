"""What the files of a store may say; anything else is damage."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wmel.contract.cell import Cell
from wmel.contract.criterion import Stop
from wmel.contract.run import Run
from wmel.episodes import EpisodeTable
from wmel.errors import BadRecord

FORMAT = 1
Kind = TypeVar("Kind", bound=BaseModel)
Count = Annotated[int, Field(ge=0, lt=10**9)]


class Said(BaseModel):
    """Unknown fields are damage too."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class CellSaid(Said):
    environment: str
    environment_settings: dict[str, Any]
    planner: dict[str, Any] | None
    objective: str | None
    arm: str
    model: dict[str, Any] | None
    perturbation: str | None
    perturb_prob: float
    perturb_step: Count | None
    success: str | None
    stop: Literal["success", "horizon"] | None
    horizon: Count | None
    seed: Count
    episodes: Count
    labels: dict[str, Any]

    @property
    def cell(self) -> Cell:
        return Cell(**dict(self))


class RunSaid(Said):
    environment_name: str
    policy_name: str
    policy_reads: Literal["observation", "state"]
    policy_settings: dict[str, Any]
    seeds: tuple[Count, ...]
    horizon: Annotated[int, Field(gt=0)]
    perturb_prob: float
    perturbation: str | None
    layout: str | None
    init: str | None
    success: str | None
    stop: Stop
    latency_threads: Annotated[int, Field(gt=0)]
    versions: dict[str, str]

    def run(self, table: EpisodeTable) -> Run:
        """The run with its rows."""
        return Run(**dict(self), table=table)


class ProvenanceSaid(Said):
    versions: dict[str, str]
    code: dict[str, str]
    weights: str | None
    data: str | None = None
    device: str = "cpu"
    machine: dict[str, Any]
    git: dict[str, Any] | None


class BlockSaid(Said):
    """Beside the rows of a block."""

    cell: CellSaid
    first: Count
    count: Annotated[int, Field(gt=0, lt=10**9)]
    sha256: str
    run: RunSaid
    provenance: ProvenanceSaid
    seconds: float


class ManifestSaid(Said):
    """What a study is: its file and its cells, in order."""

    format: Literal[1]
    name: str
    about: str
    anytime: bool  # pairs were added until each gap was decided
    file: str
    cells: Annotated[list[CellSaid], Field(min_length=1)]


def parsed(kind: type[Kind], text: bytes, where: object) -> Kind:
    """What a file says, or BadRecord with the place."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(key) for key in first["loc"])
        raise BadRecord(f"{where} is damaged: {place + ': ' if place else ''}{first['msg']}") from error
