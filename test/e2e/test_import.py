"""The ONNX importer on its own: refuses every bad file, imports every supported one with the right interface."""

import functools
import os
import pathlib
import resource
import subprocess

import numpy as np
import pytest

import harness

TOOL = pathlib.Path(os.environ.get("TT_BUILD", harness.ROOT / "build")) / "bin" / "tt-import"
#: Legal files that may be accepted as long as nothing is unrolled or allocated.
LEGAL = {
    "cos_huge", "domain_not_imported", "duplicate_initializers", "input_dims_negative", "loop_huge_trip", "no_outputs",
    "range_huge",
}  # fmt: skip
#: What is missing in the models that are refused. A model may be refused for these reasons only, and must name them.
UNSUPPORTED = [
    "Loop", "Scan", "LSTM", "GRU", "RNN", "SequenceConstruct", "SequenceEmpty", "ConcatFromSequence", "GridSample",
    "SoftmaxCrossEntropyLoss", "StringNormalizer", "QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv",
    "ConvInteger", "MatMulInteger", "com.microsoft.", "If on a condition that is computed at run time",
]  # fmt: skip
#: One-operator models and networks that are refused, with the one reason.
REFUSED = {
    "nets/": {"dlrm": "Loop", "gru_net": "GRU", "lstm_net": "LSTM"},
    "ops/": {
        "cross_entropy": "SoftmaxCrossEntropyLoss", "embedding_bag_mean": "Loop", "grid_sample": "GridSample", "gru": "GRU",
        "lstm": "LSTM", "lstm_bi": "LSTM", "rnn_relu": "RNN",
    },
    "odd/": {
        "empty_output_name": "LSTM", "if_dynamic": "If on a condition", "loop_constant_trip": "Loop", "loop_while": "Loop",
        "scan": "Scan", "sequence": "SequenceConstruct", "string_tensor": "StringNormalizer",
    },
    "tf2onnx/": {
        "tf1_lstm_while_v1": "Loop", "tf2_cond": "If on a condition", "tf2_keras_lstm": "LSTM", "tf2_lstm_while": "Loop",
    },
}  # fmt: skip


def run_import(*arguments, memory=2 << 30, timeout=20):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    command = [str(TOOL), "--interface", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout, preexec_fn=limit)


@pytest.fixture(autouse=True)
def needs_tool_and_models(shared):
    if not TOOL.exists():
        pytest.skip(f"{TOOL} has not been built")


def files(folder):
    return sorted(f for f in harness.corpus() if f.startswith(folder))


@pytest.mark.parametrize("file", files("bad/"))
def test_bad_file_is_refused(file):
    result = run_import(harness.SHARED / file)
    name = file.removeprefix("bad/").removesuffix(".onnx")
    assert result.returncode in ((0, 1, 2) if name in LEGAL else (1, 2)), result.stderr
    if result.returncode:
        assert harness.errors_of(result), result.stderr
        assert len(result.stderr) < 8000, "the message is too long"
        assert all(c.isprintable() or c == "\n" for c in result.stderr), "control characters in the message"


def expected_reason(file):
    folder, _, name = file.rpartition("/")
    return REFUSED.get(folder + "/", {}).get(name.split(".")[0])


@functools.cache
def reference(npz):
    with np.load(harness.SHARED / npz) as data:
        return {k: (v.shape, str(v.dtype)) for k, v in data.items()}


@pytest.mark.parametrize("folder", ["digits", "nets/", "mlperf/", "ops/", "odd/", "tf2onnx/", "contrib/", "quant/"])
def test_interfaces(folder):
    """All outputs have the shapes and types of the stored reference; what is refused is refused in one message."""
    problems = []
    imported = 0
    for file in files(folder):
        model = harness.corpus()[file]
        shapes = []
        known = reference(model.npz) if model.npz else {}
        for name in model.declared:
            shape, _ = known.get("in." + name, ((), None))
            if shape:
                shapes += ["--shape", f"{name}={','.join(map(str, shape))}"]
        result = run_import(*shapes, harness.SHARED / file)
        reason = expected_reason(file)
        if result.returncode:
            errors = harness.errors_of(result)
            if len(errors) != 1 or not any(u in errors[0] for u in UNSUPPORTED):
                problems.append(f"{file}: {result.stderr[:500]}")
            elif folder in REFUSED and (reason is None or reason not in errors[0]):
                problems.append(f"{file}: must be imported: {errors[0][:300]}")
            continue
        if reason:
            problems.append(f"{file}: is expected to be refused for {reason}")
        imported += 1
        got = {}
        for line in result.stdout.splitlines():
            kind, name, shape, dtype = line.split("\t")
            if kind == "output":
                got[name] = (tuple(map(int, shape.split("x"))) if shape else (), dtype)
        wanted = {k[4:]: v for k, v in known.items() if k.startswith("out.")}
        if any(got.get(name) != v for name, v in wanted.items()):
            problems.append(f"{file}: outputs {got}, expected {wanted}")
    assert not problems, "\n".join(problems)
    assert imported or folder == "quant/"


def test_open_shapes_are_listed_in_one_error():
    result = run_import(harness.SHARED / "nets/bert_matmul.dynamic.legacy13.onnx")
    errors = harness.errors_of(result)
    assert len(errors) == 1, result.stderr
    assert all(f"'{n}'" in errors[0] for n in ("input_ids", "attention_mask", "token_type_ids"))


def test_symbolic_extents_hold_for_all_inputs():
    path = harness.SHARED / "nets/bert_matmul.dynamic.legacy13.onnx"
    result = run_import("--shape", "input_ids=3,16", path)
    assert result.returncode == 0, result.stderr
    assert "input\tattention_mask\t3x16\t" in result.stdout
    result = run_import("--shape", "input_ids=3,16", "--shape", "attention_mask=4,16", path)
    assert "dimension 'batch' is" in result.stderr and result.returncode == 1


@pytest.mark.parametrize(
    "shape, message",
    [
        ("imag=1,1,8,8", "did you mean 'image'?"),
        ("image=1,8,8", "has rank 4"),
        ("image=0,1,8,8", "must be positive"),
        ("image=1,2,8,8", "channels"),
    ],
)
def test_wrong_shapes(shape, message):
    result = run_import("--shape", shape, harness.SHARED / "digits_cnn.legacy13.onnx")
    assert result.returncode == 1
    assert message in result.stderr


def test_batch_can_be_overridden():
    result = run_import("--shape", "image=5,3,64,64", harness.SHARED / "nets/tiny_resnet.legacy13.onnx")
    assert result.returncode == 0, result.stderr
    assert "output\tlogits\t5x10\tfloat32" in result.stdout
