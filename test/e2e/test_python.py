"""The Python packages, as the manual spells them."""

import pathlib
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import harness

tensorturbo = pytest.importorskip("tensorturbo")
import tb  # noqa: E402

MODEL = harness.ROOT / "models/digits/digits_cnn.onnx"


@pytest.fixture
def model():
    return tensorturbo.model.from_onnx(str(MODEL), shape={"image": [10, 1, 8, 8]})


def test_info(model):
    assert model.get_input_info() == {"image": {"shape": [10, 1, 8, 8], "dtype": "float32"}}
    assert model.get_output_info() == {"logits": {"shape": [10, 10], "dtype": "float32"}}


def test_set_input_shape(model):
    model.set_input_shape({"image": [4, 1, 8, 8]})
    assert model.get_input_info()["image"]["shape"] == [4, 1, 8, 8]
    assert model.get_output_info()["logits"]["shape"] == [4, 10]


@pytest.mark.parametrize(
    "shape, word",
    [
        ({"imag": [4, 1, 8, 8]}, "imag"),
        ({"image": [4, 1, 8]}, "image"),
        ({"image": [4, 2, 8, 8]}, "conv1"),
        ({"image": [4, 1, 8, 17]}, "fc"),
        ({"image": [0, 1, 8, 8]}, "image"),
        ({"image": [-4, 1, 8, 8]}, "image"),
        ({"image": "abc"}, "image"),
        ({"image": [4.5, 1, 8, 8]}, "image"),
        ({"image": [2**60, 1, 8, 8]}, None),
        ([4, 1, 8, 8], "dictionary"),
    ],
)
def test_bad_shape_leaves_the_model(model, shape, word):
    with pytest.raises((tensorturbo.ModelError, tensorturbo.ResourceError), match=word):
        model.set_input_shape(shape)
    assert model.get_input_info()["image"]["shape"] == [10, 1, 8, 8]


def test_compile_and_run(model, tmp_path):
    path = tmp_path / "digits.stcobj"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tensorturbo.TensorTurboWarning)
        module = model.compile(output_file=str(path), schedule=None, required_pass=[])
    assert module.path == str(path) and module.object_bytes == path.stat().st_size
    assert {n.where for n in module.nodes} <= {"npu", "host", "folded"}
    executor = tb.kernel.Executor.load_from_stcobj(str(path))
    data = np.load(harness.ROOT / "models/digits/digits_test.npz")
    executor.set_input({"image": data["images"][:10].astype("float16")})
    out = executor()[0]
    assert out.shape == (10, 10) and out.dtype == np.float32 and out.flags.writeable
    assert np.mean(out.argmax(axis=1) == data["labels"][:10]) >= 0.9
    # Any memory order, and byte order, of the caller's arrays.
    executor.set_input({"image": np.asfortranarray(data["images"][:10]).astype(">f4")})
    assert np.array_equal(executor()[0].argmax(axis=1), out.argmax(axis=1))
    assert executor.statistics()["cores"][0]["retired"] > 0


@pytest.mark.parametrize(
    "config, words",
    [
        ({"ncroe": 8}, ["'ncroe'", "'ncore'"]),
        ({"ncore": 3}, ["'ncore'"]),
        ({"ncore": "8"}, ["'ncore'"]),
        ({"ncore": 2.5}, ["'ncore'"]),
        ({"graph_schedule_level": 5}, ["'graph_schedule_level'"]),
        ({"fifo": True}, ["'fifo'"]),
        ({"quant_config": {"calibrate_mode": "percentile"}}, ["'quant_config'", "still to come"]),
        ({"required_pass": "FuseConvAddBnRelu"}, ["'required_pass'", "list"]),
        ({"required_pass": ["NoSuchPass"]}, ["'NoSuchPass'", "FuseConvAddBnRelu"]),
        ({"disabled_pass": ["NoSuchPass"]}, ["'NoSuchPass'"]),
        ({"kernel": "GPUKernel"}, ["'kernel'", "'NPUKernel'"]),
        ({"schedule": tb.kernel.schedule.resnet50_schedule}, ["manual", "still to come"]),
        ({"schedule": 3}, ["still to come"]),
        ({"ncore": 3, "graph_schedule_level": 7, "x": 1}, ["'ncore'", "'graph_schedule_level'", "'x'"]),
    ],
)
def test_refused_options(model, tmp_path, config, words):
    with pytest.raises(tensorturbo.ModelError) as caught:
        model.compile(tmp_path / "m.stcobj", **config)
    for word in words:
        assert word in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_options_without_effect_warn(model, tmp_path):
    with pytest.warns(tensorturbo.TensorTurboWarning, match="'unpack_graph_ops' has no effect yet"):
        model.compile(tmp_path / "m.stcobj", unpack_graph_ops=False)


def test_unwritable_output(model, tmp_path):
    with pytest.raises(tensorturbo.ModelError, match="no/folder"):
        model.compile(tmp_path / "no/folder/m.stcobj")
    with pytest.raises(tensorturbo.ModelError, match="path"):
        model.compile(3)


def test_other_importers_are_refused():
    for call in (
        lambda: tensorturbo.model.from_tensorflow("a.pb", ["x"], ["y"]),
        lambda: tensorturbo.model.from_mxnet("a", 10),
        lambda: tensorturbo.model.from_keras("a.h5"),
        lambda: tensorturbo.model.from_relay("a.relay", BATCH=8),
    ):
        with pytest.raises(tensorturbo.ModelError, match="still to come"):
            call()
    with pytest.raises(AttributeError, match="still to come"):
        tb.relay.graph_schedule.Group


def test_missing_model():
    with pytest.raises(tensorturbo.ModelError, match="absent.onnx"):
        tensorturbo.model.from_onnx("absent.onnx")
    with pytest.raises(tensorturbo.ModelError, match="absent.stcobj"):
        tb.kernel.Executor.load_from_stcobj("absent.stcobj")


def test_error_names_the_node(shared):
    with pytest.raises(tensorturbo.ModelError) as caught:
        tensorturbo.model.from_onnx(harness.SHARED / "bad/shape_mismatch.onnx")
    assert caught.value.findings and isinstance(caught.value.node, str)


def test_set_input_checks(digits):
    executor = tb.kernel.Executor.load_from_stcobj(digits[0])
    image = np.zeros((10, 1, 8, 8), np.float32)
    for inputs, words in [
        ({"imagee": image}, ["'imagee'", "'image'"]),
        ({"image": image[:3]}, ["[3, 1, 8, 8]"]),
        ({"image": image.astype(np.int64)}, ["int64"]),
        ({"image": np.array(["a"])}, ["'image'"]),
        ({"image": np.array([None])}, ["'image'"]),
        ({"image": image[:3].astype(np.int8), "other": image}, ["[3, 1, 8, 8]", "int8", "'other'"]),
        ({3: image}, ["3"]),
        (image, ["dictionary"]),
    ]:
        with pytest.raises(tensorturbo.ModelError) as caught:
            executor.set_input(inputs)
        for word in words:
            assert word in str(caught.value)
    with pytest.raises(tensorturbo.ModelError, match="has not been set"):
        executor()


def test_interpreter_runs_on_during_a_run(digits):
    executor = tb.kernel.Executor.load_from_stcobj(digits[0])
    executor.set_input({"image": digits[1][:10]})
    expected = executor()[0]
    results = []

    def work():
        other = tb.kernel.Executor.load_from_stcobj(digits[0])
        other.set_input({"image": digits[1][:10]})
        results.append(other()[0])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3 and all(np.array_equal(r, expected) for r in results)


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=280, check=False)


@pytest.mark.parametrize("order", ["import tb, tensorturbo", "import tensorturbo, tb", "import tb.relay.graph_schedule, tb"])
def test_import_order(order):
    result = run_python(order + "; print(tb.relay.graph_schedule.AutoSchedule, tensorturbo.__version__)" if "tensorturbo" in order else order)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("other", ["tensorflow", "torch"])
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_beside_other_frameworks(other, first, tmp_path):
    """Their LLVM and ours in one process, whoever comes first."""
    found = run_python(f"import importlib.util as u, sys; sys.exit(u.find_spec('{other}') is None)")
    if found.returncode:
        pytest.skip(f"{other} is not installed")
    imports = ["import tensorturbo, tb", f"import {other}"]
    code = f"""
{chr(10).join(imports if first == "ours" else imports[::-1])}
import numpy as np, warnings
warnings.simplefilter("ignore")
model = tensorturbo.model.from_onnx({str(MODEL)!r}, shape={{"image": [2, 1, 8, 8]}})
for target in ("npu", "llvm"):
    model.compile({str(tmp_path / "m.stcobj")!r}, target=target)
    executor = tb.kernel.Executor.load_from_stcobj({str(tmp_path / "m.stcobj")!r})
    executor.set_input({{"image": np.zeros((2, 1, 8, 8), np.float32)}})
    assert executor()[0].shape == (2, 10)
"""
    result = run_python(code)
    assert result.returncode == 0, result.stderr[-3000:]


def test_only_the_module_entry_is_exported():
    """Nothing of our LLVM may be visible to other libraries of the process."""
    readers = [p for p in (pathlib.Path("/usr/lib/llvm-22/bin/llvm-nm"), pathlib.Path("/usr/bin/nm")) if p.exists()]
    if not readers:
        pytest.skip("no nm")
    library = tensorturbo._core.__file__
    result = subprocess.run(
        [readers[0], "-D", "--defined-only", library], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1].split("@")[0] for line in result.stdout.splitlines() if line.strip()}
    assert names == {"PyInit__core"}


def test_typed():
    for package in (tensorturbo, tb):
        assert (pathlib.Path(package.__file__).parent / "py.typed").exists()
