"""Malformed and hostile model files: an error, never a crash, a hang, a leak or a half-written file."""

import pytest

import harness

#: Legal files that other tools accept: refusing them is not asked for.
LEGAL = {
    "cos_huge", "domain_not_imported", "duplicate_initializers", "input_dims_negative", "loop_huge_trip", "no_outputs",
    "range_huge",
}  # fmt: skip


@pytest.mark.parametrize("file", sorted(f for f in harness.corpus() if f.startswith("bad/")))
def test_bad_model(shared, tmp_path, file):
    out = tmp_path / "m.stcobj"
    result = harness.run_tool("compile", harness.SHARED / file, "-o", out, timeout=20)
    assert result.returncode in (0, 1, 2), f"exit code {result.returncode}: {result.stderr[-2000:]}"
    if result.returncode == 0:
        name = file.removeprefix("bad/").removesuffix(".onnx")
        assert name in LEGAL, "accepted"
        return
    assert harness.errors_of(result), result.stderr
    assert len(result.stderr) < 20000, "the message is too long"
    assert all(c.isprintable() or c == "\n" for c in result.stderr), "control characters in the message"
    assert list(tmp_path.iterdir()) == [], "files were left"


def test_message_names_all_unsupported(shared, tmp_path):
    result = harness.run_tool("compile", harness.SHARED / "bad/unknown_op.onnx", "-o", tmp_path / "m.stcobj")
    assert result.returncode == 1
    assert "FancyOp" in result.stderr and "OtherOp" in result.stderr


def test_dynamic_dimension_without_shape(shared, tmp_path):
    model = harness.corpus()["digits_cnn.dynamo18.onnx"]
    result = harness.run_tool("compile", model.path, "-o", tmp_path / "m.stcobj")
    assert result.returncode == 1
    assert len(harness.errors_of(result)) == 1 and "'image'" in result.stderr and "shape" in result.stderr
