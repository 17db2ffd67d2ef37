"""dump_file for every generated network: the C++ text, built with clang, leaves the same bytes at levels 0 and 1."""

import os
import shutil
import subprocess
import sys

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "models" / "imagenet"))
pytest.importorskip("onnx")
import make_nets  # noqa: E402

TEST = harness.ROOT / "build" / "bin" / "DumpFileTest"


@pytest.mark.skipif(not TEST.exists(), reason="DumpFileTest is not built")
@pytest.mark.skipif(not shutil.which("clang++-22"), reason="no clang++ for riscv32")
@pytest.mark.parametrize("name", make_nets.NETS)
def test_network(name, tmp_path):
    make_nets.make(name, tmp_path / f"{name}.onnx", make_nets.NETS[name][2], batch=2)
    result = subprocess.run(
        [TEST, "--gtest_filter=DumpFile.ModelsInTheFolder"], env=os.environ | {"TT_DUMP_MODELS": str(tmp_path)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    assert "SKIPPED" not in result.stdout, result.stdout
