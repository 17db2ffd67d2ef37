"""Stand-alone programs: the same bytes as a run of the object file."""

import json
import struct
import subprocess

import numpy as np
import pytest

import harness
from harness import ROOT, run_tool

RUNNER = ROOT / "build/bin/p920-run"


def outputs_note(path):
    """The description of the note .note.tensorturbo.outputs, read by hand."""
    data = path.read_bytes()
    shoff, shnum, shstrndx = struct.unpack_from("<I", data, 32)[0], *struct.unpack_from("<HH", data, 48)
    headers = [struct.unpack_from("<10I", data, shoff + 40 * i) for i in range(shnum)]
    names = data[headers[shstrndx][4] :]
    for name, kind, _, _, offset, size, *_ in headers:
        if names[name : names.index(b"\0", name)] == b".note.tensorturbo.outputs":
            note = data[offset : offset + size]
            owner, length, number = struct.unpack_from("<3I", note)
            assert kind == 7 and number == 1 and note[12:24] == b"TensorTurbo\0" and owner == 12
            return json.loads(note[24 : 24 + length])
    raise AssertionError("no such note")


def check_pack(path, inputs, folder, cores):
    source, alone = folder / "packed-in.npz", folder / "alone.elf"
    np.savez(source, **inputs)
    result = run_tool("pack", path, "--with-input", source, "-o", alone)
    assert result.returncode == 0, result.stderr
    result, expected = harness.run_model(path, inputs, folder)
    assert result.returncode == 0, result.stderr
    note = outputs_note(alone)
    assert {o["name"] for o in note} == set(expected)
    dumps = []
    for i, output in enumerate(note):
        dumps += ["--dump", f"{output['address']:x}:{output['bytes']}={folder}/out{i}.bin"]
    result = subprocess.run(
        [RUNNER, "--cores", str(cores), "--fill", "FFFF", *dumps, alone],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    for i, output in enumerate(note):
        got = np.fromfile(folder / f"out{i}.bin", output["dtype"]).reshape(output["shape"])
        assert np.array_equal(got.astype(expected[output["name"]].dtype), expected[output["name"]])


needs_runner = pytest.mark.skipif(not RUNNER.exists(), reason="p920-run is not built")


@needs_runner
def test_pack_digits(digits, tmp_path):
    path, images, _ = digits
    check_pack(path, {"image": images[:10]}, tmp_path, 8)


@needs_runner
@pytest.mark.parametrize("ncore", [1, 8])
def test_pack_resnet8(shared, tmp_path, ncore):
    model = harness.corpus()["mlperf/resnet8_cifar10_float.tflite.tf2onnx13.onnx"]
    result, path, report = harness.compile_model(model, tmp_path, ncore)
    assert result.returncode == 0, result.stderr
    if any(n["where"] == "host" for n in report["nodes"]):
        pytest.skip("a part runs on the host")
    check_pack(path, model.inputs, tmp_path, ncore)


def test_missing_input(digits, tmp_path):
    result = run_tool("pack", digits[0], "-o", tmp_path / "a.elf")
    assert result.returncode == 1 and "'image' is missing" in result.stderr
    assert not (tmp_path / "a.elf").exists()


def test_host_parts_are_refused(digits, tmp_path):
    out = tmp_path / "host.stcobj"
    result = run_tool(
        "compile", ROOT / "models/digits/digits_cnn.onnx", "-o", out, "--shape", "image=1,1,8,8", "--target", "llvm"
    )
    assert result.returncode == 0, result.stderr
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 8, 8), np.float32))
    result = run_tool("pack", out, "--with-input", f"image={tmp_path}/x.npy", "-o", tmp_path / "a.elf")
    assert result.returncode == 1 and "host" in result.stderr
    assert not (tmp_path / "a.elf").exists()
