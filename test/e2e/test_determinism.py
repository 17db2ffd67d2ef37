"""The same input gives the same bytes on every run, whatever else the process does; within time and memory."""

import hashlib
import os
import sys

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "benchmarks"))
pytest.importorskip("onnx")
import matrix  # noqa: E402

#: Branches, depthwise layers, attention.
NETS = ["inception_v3", "mobilenet_v2", "transformer"]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("level", [0, 1])
def test_same_bytes(tmp_path, name, level):
    size = matrix.size_of(name, quick=True)
    model = matrix.model_file(tmp_path, name, size)
    source, array = matrix.input_of(name, size, 3)
    shape = ["--shape", f"{source}={','.join(map(str, array.shape))}", "--level", level]
    found = set()
    for run in range(2):
        # Another folder, another environment: neither may leave a trace. Addresses differ from run to run anyway.
        folder = tmp_path / f"run{run}"
        folder.mkdir()
        out, text = folder / "m.stcobj", folder / "m.cc"
        result = harness.run_tool(
            "compile", model, "-q", "-o", out, "--dump-file", text, *shape, cwd=folder, env=os.environ | {"RUN": "x" * run}
        )
        assert result.returncode == 0, result.stderr
        found.add((digest(out), digest(text)))
    assert len(found) == 1, "two compilations, different bytes"


def test_limits_of_the_command(tmp_path):
    """Compile time and memory of ResNet-50 at full size, with the limits of benchmarks/matrix.py."""
    model = matrix.model_file(tmp_path, "resnet50_v1.5", 224)
    problem, seconds, peak, text = matrix.command(
        [harness.tool(), "compile", model, "-q", "-o", tmp_path / "m.stcobj", "--shape", "image=16,3,224,224", "--level", 1], 120
    )
    assert not problem, text
    assert seconds <= matrix.COMPILE_SECONDS, seconds
    assert peak <= 2 * model.stat().st_size + (1 << 30), peak
