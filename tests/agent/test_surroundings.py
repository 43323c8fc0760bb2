"""What is set for the libraries below us before they are loaded."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.peer


def test_the_model_runtime_is_told_not_to_report_before_it_is_loaded() -> None:
    program = "import os, sys, agent.app.worker; print(os.environ['ORT_DISABLE_TELEMETRY'], 'onnxruntime' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["1", "False"]
