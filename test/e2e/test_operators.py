"""One-operator models: each is computed right, or refused with one message that names what is missing."""

import pytest

import harness


def files_of(folder):
    return sorted(f for f in harness.corpus() if f.startswith(folder + "/"))


def check_model(file, ncore, folder, must_compile=False):
    model = harness.corpus()[file]
    result, path, report = harness.compile_model(model, folder, ncore)
    assert result.returncode in (0, 1, 2), f"exit code {result.returncode}: {result.stderr}"
    if result.returncode:
        assert harness.errors_of(result), "refused without a message"
        assert not path.exists(), "refused, but an object was written"
        assert not must_compile, result.stderr
        return
    harness.check_report(report)
    result, outputs = harness.run_model(path, model.inputs, folder)
    assert result.returncode == 0, result.stderr
    on_npu = any(n["where"] == "npu" for n in report["nodes"])
    harness.compare(outputs, model.outputs, on_npu, model.tolerance)


@pytest.mark.parametrize("ncore", [1, 8] if harness.FULL else [8])
@pytest.mark.parametrize("file", files_of("ops"))
def test_operator(shared, tmp_path, file, ncore):
    check_model(file, ncore, tmp_path)


#: Operators of convolutional networks, which must compile whatever else is missing.
CORE = [
    "add", "avg_pool2d", "batch_norm2d", "bmm", "cat", "clamp", "conv2d", "conv2d_depthwise", "conv2d_dilated",
    "conv2d_group", "conv2d_same", "linear", "matmul", "max_pool2d", "mean_dim", "mul", "permute", "relu", "sigmoid",
    "softmax", "sub", "transpose",
]  # fmt: skip


@pytest.mark.parametrize("name", CORE)
def test_core_operator(shared, tmp_path, name):
    files = [f for f in harness.corpus() if f.startswith(f"ops/{name}.")]
    if not files:
        pytest.skip("no such file among the test models")
    check_model(files[0], 8, tmp_path, must_compile=True)


@pytest.mark.parametrize("file", files_of("odd"))
def test_odd_container(shared, tmp_path, file):
    model = harness.corpus()[file]
    if not model.npz:
        pytest.skip("no reference")
    check_model(file, 8, tmp_path)
