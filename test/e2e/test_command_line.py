"""The command line tool's own behaviour: exit codes, messages, damaged files, full disks, interruptions."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest

import harness
from harness import ROOT, errors_of, run_tool

MODEL = ROOT / "models/digits/digits_cnn.onnx"
SHAPE = ["--shape", "image=10,1,8,8"]


def test_version_is_quick():
    times = []
    for _ in range(5):
        start = time.perf_counter()
        result = run_tool("--version")
        times.append(time.perf_counter() - start)
        assert result.returncode == 0 and result.stdout.startswith("tensorturbo 0.")
    # 50 ms are promised; a busy machine gets some more.
    assert min(times) < 0.1, times


def test_compile_run_inspect(digits, tmp_path):
    path, images, labels = digits
    result, outputs = harness.run_model(path, {"image": images[:10]}, tmp_path)
    assert result.returncode == 0 and result.stderr == ""
    assert outputs["logits"].shape == (10, 10) and outputs["logits"].dtype == np.float32
    assert np.mean(outputs["logits"].argmax(axis=1) == labels[:10]) >= 0.9
    result = run_tool("inspect", path)
    assert result.returncode == 0
    for word in ("image", "10x1x8x8 float32", "logits", ".tt.meta", "npu", "entry"):
        assert word in result.stdout, result.stdout
    meta = json.loads(run_tool("inspect", "--json", path).stdout)
    assert meta["ncore"] == 8 and {n["name"] for n in meta["nodes"]} >= {"conv1", "fc"}


def test_named_input_and_single_output(digits, tmp_path):
    path, images, _ = digits
    np.save(tmp_path / "x.npy", images[:10].astype(np.float16))
    result = run_tool("run", path, "--input", f"image={tmp_path}/x.npy", "--output", tmp_path / "y.npy")
    assert result.returncode == 0, result.stderr
    assert np.load(tmp_path / "y.npy").shape == (10, 10)
    result = run_tool("run", path, "--input", f"image={tmp_path}/x.npy")
    assert result.returncode == 0 and result.stdout.startswith("logits: 10x10 float32 = ")


def test_report_of_a_run(digits, tmp_path):
    path, images, _ = digits
    report = tmp_path / "r.json"
    result, _ = harness.run_model(path, {"image": images[:10]}, tmp_path, flags=["--report", report])
    assert result.returncode == 0, result.stderr
    cores = json.loads(report.read_text())["cores"]
    assert len(cores) == 8 and cores[0]["retired"] > 100
    assert sum(c["mme_cycles"] for c in cores) > 0


def test_dump_files(tmp_path):
    cc, relay = tmp_path / "m.cc", tmp_path / "m.relay"
    result = run_tool("compile", MODEL, "-o", tmp_path / "m.stcobj", *SHAPE, "--dump-file", cc, "--graph-dump-file", relay)
    assert result.returncode == 0, result.stderr
    assert "nn.conv2d" in relay.read_text()
    assert "void" in cc.read_text()


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], ["subcommand"]),
        (["compil"], ["unknown command 'compil'", "'compile'"]),
        (["compile"], ["required"]),
        (["compile", "no/such/model.onnx", "-o", "m.stcobj"], ["'no/such/model.onnx'", "No such file"]),
        (["compile", "/", "-o", "m.stcobj"], ["not a regular file"]),
        (["compile", MODEL, "-o", "m.stcobj", "--shape", "image=10,x"], ["'image=10,x'"]),
        (["compile", MODEL, "-o", "m.stcobj", "--shape", "imag=10,1,8,8"], ["'imag'", "'image'"]),
        (["compile", MODEL, "-o", "m.stcobj", "--shape", "image=10,1,8"], ["'image'"]),
        (["compile", MODEL, "-o", "m.stcobj", *SHAPE, "--ncore", "3"], ["'ncore'", "1, 2, 4, 8"]),
        (["compile", MODEL, "-o", "m.stcobj", *SHAPE, "--level", "9"], ["'graph_schedule_level'"]),
        (["compile", MODEL, "-o", "m.stcobj", *SHAPE, "--option", "ncroe=8"], ["'ncroe'", "did you mean 'ncore'"]),
        (["compile", MODEL, "-o", "m.stcobj", *SHAPE, "--option", "fifo=true"], ["'fifo'"]),
        (["compile", MODEL, "-o", "m.stcobj", *SHAPE, "--option", "quant_config=x"], ["'quant_config'", "still to come"]),
        (["compile", MODEL, "-o", "m.stcobj", *SHAPE, "--option", "required_pass=NoSuch"], ["'NoSuch'", "FuseConvAddBnRelu"]),
        (["compile", MODEL, "-o", "no/such/folder/m.stcobj", *SHAPE], ["'no/such/folder/m.stcobj'"]),
        (["compile", MODEL, "-o", "/dev/null", *SHAPE], ["not a regular file"]),
        (["run", "absent.stcobj"], ["'absent.stcobj'"]),
        (["inspect", MODEL], ["no ELF file"]),
    ],
)
def test_user_errors(tmp_path, arguments, words):
    result = run_tool(*arguments, cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_several_errors_at_once(tmp_path):
    result = run_tool("compile", MODEL, "-o", tmp_path / "m", "--ncore", "3", "--level", "9", "--option", "a=1")
    assert result.returncode == 1
    assert len(errors_of(result)) == 3, result.stderr


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda x: {"imagee": x}, ["'imagee'", "did you mean 'image'"]),
        (lambda x: {"image": x[:3]}, ["[10, 1, 8, 8]", "[3, 1, 8, 8]"]),
        (lambda x: {"image": x.astype(np.int32)}, ["float32", "int32"]),
        (lambda x: {"image": x.astype(np.float64)}, ["float32", "float64"]),
        (lambda x: {}, ["'image'", "not been set"]),
    ],
)
def test_wrong_inputs(digits, tmp_path, make, words):
    path, images, _ = digits
    result, outputs = harness.run_model(path, make(images[:10]), tmp_path)
    assert result.returncode == 1 and outputs is None
    for word in words:
        assert word in result.stderr, result.stderr
    assert not (tmp_path / "out.npz").exists()


def test_damaged_arrays(digits, tmp_path):
    path, images, _ = digits
    good = tmp_path / "x.npy"
    np.save(good, images[:10])
    for cut in (0, 5, 60, good.stat().st_size - 1):
        (tmp_path / "bad.npy").write_bytes(good.read_bytes()[:cut])
        result = run_tool("run", path, "--input", f"image={tmp_path}/bad.npy")
        assert result.returncode == 1 and len(errors_of(result)) == 1, result.stderr
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    result = run_tool("run", path, "--input", f"image={tmp_path}/objects.npy")
    assert result.returncode == 1, "pickles are never opened"


def test_damaged_objects(digits, tmp_path):
    path, _, _ = digits
    good = path.read_bytes()
    bad = tmp_path / "bad.stcobj"
    rng = np.random.default_rng(3)
    samples = [good[:cut] for cut in (0, 1, 51, 52, 300, len(good) // 2, len(good) - 1)]
    for at in rng.integers(0, len(good), 20):
        samples.append(good[:at] + bytes([good[at] ^ 1 << rng.integers(8)]) + good[at + 1 :])
    for sample in samples:
        bad.write_bytes(sample)
        result = run_tool("run", bad)
        assert result.returncode == 1 and len(errors_of(result)) == 1, (result.returncode, result.stderr)
    with open("/usr/bin/env", "rb") as other:
        bad.write_bytes(other.read())
    result = run_tool("inspect", bad)
    assert result.returncode == 1 and "RISC-V" in result.stderr


def test_old_object_survives_a_failed_compile(digits, tmp_path):
    out = tmp_path / "m.stcobj"
    out.write_bytes(b"old")
    assert run_tool("compile", MODEL, "-o", out, "--shape", "image=10,1,8").returncode == 1
    assert out.read_bytes() == b"old"


def file_size_limit(size):
    import resource

    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_full_disk(tmp_path):
    """A limit on the size of files stands for a full disk."""
    out = tmp_path / "m.stcobj"
    command = [harness.tool(), "compile", str(MODEL), "-o", str(out), *SHAPE]
    # The compiler's temporary files are small; the object is not.
    result = subprocess.run(command, capture_output=True, text=True, preexec_fn=file_size_limit(30000), timeout=120)
    assert result.returncode in (1, 2), result.stderr
    assert errors_of(result), result.stderr
    assert list(tmp_path.iterdir()) == [], "a half-written file was left"


def test_full_tmpfs(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "none", folder], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("no right to mount a file system")
    try:
        result = run_tool("compile", MODEL, "-o", folder / "m.stcobj", *SHAPE)
        assert result.returncode in (1, 2) and "No space left" in result.stderr, result.stderr
        assert list(folder.iterdir()) == []
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_compile(tmp_path, number):
    folder, scratch = tmp_path / "out", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    out = folder / "m.stcobj"
    out.write_bytes(b"old")
    command = [harness.tool(), "compile", str(MODEL), "-o", str(out), "--shape", "image=64,1,8,8"]
    for delay in (0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.3):
        environment = dict(os.environ, TMPDIR=str(scratch))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        time.sleep(delay)
        process.send_signal(number)
        process.communicate(timeout=60)
        # Quick machines may be done before the signal.
        assert process.returncode in (-number, 0)
        assert [p.name for p in folder.iterdir()] == ["m.stcobj"], "a half-written file was left"
        assert list(scratch.iterdir()) == [], "temporary files were left"
        if process.returncode:
            assert out.read_bytes() == b"old"
        out.write_bytes(b"old")
