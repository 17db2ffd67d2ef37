"""Well-known networks with generated weights, against onnxruntime: benchmarks/matrix.py at reduced sizes."""

import sys

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "benchmarks"))
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import matrix  # noqa: E402

#: Nodes that stay on the host, by network; everything else must run on the NPU.
ON_HOST: dict[str, list[str]] = {}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("networks")


def check(rows, name):
    for row in rows:
        assert not row["problems"], "\n".join([matrix.HEADER, matrix.line(row)])
        left = {node: why for node, why in row["host"].items() if node not in ON_HOST.get(name, ())}
        assert not left, f"nodes on the host: {left}"


@pytest.mark.parametrize("name", matrix.make_nets.NETS)
def test_reduced(folder, name):
    cases = [(name, 3, level, ncore) for level in (0, 1) for ncore in ((1, 8) if harness.FULL else (8,))]
    cases += [(name, 1, 0, 1)]
    check(matrix.run_matrix(cases, folder, quick=True, binary=harness.tool(), timeout=300), name)


@pytest.mark.parametrize("name", ["squeezenet1_1", "mobilenet_v2", "resnet18"])
def test_full_size(folder, name):
    cases = [(name, 1, 0, ncore) for ncore in ([1, 8] if harness.FULL else [8])]
    check(matrix.run_matrix(cases, folder, binary=harness.tool(), timeout=300), name)
