"""The conversation: clock, timeline, floor, playout, heard ledger, call, frontends, record and replay."""

import os

# ONNX Runtime would report its use to its maker: nothing here calls home.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
# Matrices here are small, and threads of the matrix library only wait for each other. Read when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
