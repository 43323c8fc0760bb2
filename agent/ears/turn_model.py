"""Whether a caller who fell silent has finished: smart-turn v3.2 (BSD-2-Clause), which hears how it was said."""

from pathlib import Path

from agent.ears.log_mel import SECONDS, log_mel
from agent.onnx import open_session
from media.frames import Samples

LONGEST_S = SECONDS
"""It hears no more than the end of a turn, seconds."""


class TurnModel:
    """Safe to call from several threads."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds the weights. Raises `Refused` without them."""
        self._session = open_session(folder / "smart-turn-v3.2-cpu.onnx")

    def probability(self, pcm: Samples) -> float:
        """Probability that the turn is over, 0..1. `pcm`: 16 kHz, −1..1, up to a moment after the last word."""
        (probability,) = self._session.run(None, {"input_features": log_mel(pcm)[None]})
        return float(probability[0, 0])
