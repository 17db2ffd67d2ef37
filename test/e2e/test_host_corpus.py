"""The whole collection of float models on the host alone: imported, compiled and compared by tt-run-host.

What the importer refuses (test_import.py names why) is no failure here; everything else must agree.
"""

import os
import pathlib
import subprocess

import pytest

import harness
from test_import import UNSUPPORTED

TOOL = pathlib.Path(os.environ.get("TT_BUILD", harness.ROOT / "build")) / "bin" / "tt-run-host"
FOLDERS = ("digits", "mlperf/", "nets/", "odd/", "ops/", "tf2onnx/")
FILES = sorted(f for f, m in harness.corpus().items() if f.startswith(FOLDERS) and m.npz)


@pytest.fixture(autouse=True)
def needs_tool_and_models(shared):
    if not TOOL.exists():
        pytest.skip(f"{TOOL} has not been built")


@pytest.mark.parametrize("file", FILES)
def test_model(file):
    model = harness.corpus()[file]
    command = [str(TOOL), str(model.path), "--data", str(harness.SHARED / model.npz), "--tolerance", repr(model.tolerance)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    reproducer = "reproduce: " + " ".join(command)
    if done.returncode == 1 and any(name in done.stderr for name in UNSUPPORTED):
        pytest.skip(done.stderr.splitlines()[0][:200])
    if "element type '<U" in done.stderr:
        pytest.skip("a model of strings")
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{reproducer}"
    assert done.stdout.count(": ok") == len(model.outputs), f"{done.stdout}{reproducer}"
