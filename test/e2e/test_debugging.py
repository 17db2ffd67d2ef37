"""What 'run' and 'inspect' offer to look into a program: assembly, stops, results in between, core dumps."""

import json
import re

import numpy as np
import pytest

import harness
from harness import ROOT, errors_of, run_tool

MODEL = ROOT / "models/digits/digits_cnn.onnx"


@pytest.fixture(scope="module")
def level0(digits, tmp_path_factory):
    """The demo's network at level 0, where every result reaches DDR: (object, file of inputs)."""
    folder = tmp_path_factory.mktemp("level0")
    result = run_tool("compile", MODEL, "-o", folder / "m.stcobj", "--shape", "image=10,1,8,8", "--level", "0")
    assert result.returncode == 0, result.stderr
    np.savez(folder / "in.npz", image=digits[1][:10])
    return folder / "m.stcobj", folder / "in.npz"


def kernels(path):
    return json.loads(run_tool("inspect", "--json", path).stdout)["kernels"]


def test_assembly_names_kernels_and_nodes(level0):
    path, _ = level0
    result = run_tool("inspect", "--asm", path)
    assert result.returncode == 0 and result.stderr == ""
    for kernel in kernels(path):
        assert f"\n{kernel['symbol']}:\n  # nodes: {', '.join(kernel['nodes'])}\n" in result.stdout
    # Standard, compressed and own instructions, a call with its target, a CSR with its name.
    for pattern in (r"\n  [0-9a-f]{8}: 3800007b  sync\n", r"mov\.l1\.llb \(\w+\), \(\w+\)", r"csrw\s.*# mte_shape",
                    r"\n_start:\n", r": [0-9a-f]{4}      c\.|: [0-9a-f]{4}      \w"):
        assert re.search(pattern, result.stdout), pattern
    lines = [line for line in result.stdout.splitlines() if re.match(r"  [0-9a-f]{8}: ", line)]
    addresses = [int(line.split(":")[0], 16) for line in lines]
    assert addresses == sorted(set(addresses)) and addresses[0] == 0x01400000


def test_assembly_of_one_kernel(level0):
    path, _ = level0
    last = kernels(path)[-1]
    result = run_tool("inspect", "--asm", "--kernel", last["nodes"][0], path)
    assert result.returncode == 0
    assert f"{last['symbol']}:" in result.stdout and "_start:" not in result.stdout
    result = run_tool("inspect", "--asm", "--kernel", "conv", path)
    assert result.returncode == 1 and "did you mean 'conv" in result.stderr


@pytest.mark.parametrize("by", ["node", "symbol", "address"])
def test_break(level0, by):
    path, inputs = level0
    kernel = next(k for k in kernels(path) if "conv1" in k["nodes"])
    address = re.search(rf"\n{kernel['symbol']}:\n(?:  #.*\n)*  ([0-9a-f]{{8}}):", run_tool("inspect", "--asm", path).stdout)[1]
    where = {"node": kernel["nodes"][0], "symbol": kernel["symbol"], "address": "0x" + address}[by]
    result = run_tool("run", path, "--input", inputs, "--break", where)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("stopped: core ")
    for text in ("  a0 ", "mte_shape", "vtype 0x4", "core 7 at 0x"):
        assert text in result.stdout, result.stdout


def test_break_at_an_engine_instruction_shows_operands(level0):
    path, inputs = level0
    assembly = run_tool("inspect", "--asm", path).stdout
    address = re.search(r"  ([0-9a-f]{8}): [0-9a-f]{8}  mov\.l1\.llb", assembly)[1]
    result = run_tool("run", path, "--input", inputs, "--break", "0x" + address)
    assert result.returncode == 0, result.stderr
    assert re.search(r"operands\n  reads  0xF8[0-9A-F]{6}: \d+ rows of \d+ bytes, \d+ apart\n  writes 0xC0", result.stdout)


def test_wrong_breakpoints(level0):
    path, inputs = level0
    for where, words in (("0x20", "no code lies at"), ("nothing like it", "no node or kernel is called")):
        result = run_tool("run", path, "--input", inputs, "--break", where)
        assert result.returncode == 1 and len(errors_of(result)) == 1 and words in result.stderr


def test_dump_after(level0, tmp_path):
    path, inputs = level0
    last = kernels(path)[-1]
    node = last["outputs"][0]["node"]
    result = run_tool("run", path, "--input", inputs, "--dump-after", f"{node}={tmp_path}/r.npy", "--output", tmp_path / "out.npy")
    assert result.returncode == 0, result.stderr
    dumped, out = np.load(tmp_path / "r.npy"), np.load(tmp_path / "out.npy")
    assert dumped.dtype == np.float16 and (dumped.reshape(out.shape).astype(np.float32) == out).all()
    # In the middle: not the memory that later kernels have used again.
    first = next(k for k in kernels(path) if "conv1" in k["nodes"])
    result = run_tool("run", path, "--input", inputs, "--dump-after", first["nodes"][0], cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert list(np.load(tmp_path / (first["nodes"][0] + ".npy")).shape) == first["outputs"][0]["shape"]


def test_compare_with_float(level0, tmp_path):
    path, inputs = level0
    result = run_tool("run", path, "--input", inputs, "--compare", "float", "--model", MODEL)
    assert result.returncode == 0, result.stderr
    cosines = [float(m[1]) for m in re.finditer(r"^\S+ +[\dx]+ +([\d.]+) ", result.stdout, re.M)]
    assert len(cosines) >= len(kernels(path)) // 2 and min(cosines) > 0.999, result.stdout
    assert "no layer's cosine is below 0.99" in result.stdout
    other = ROOT / "models/digits/README.md"
    result = run_tool("run", path, "--input", inputs, "--compare", "float", "--model", other)
    assert result.returncode == 1 and errors_of(result)


@pytest.fixture(scope="module")
def looped(tmp_path_factory):
    """Convolutions on four images that do not fit LLB together, at both levels: (model, file of inputs, objects)."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    folder = tmp_path_factory.mktemp("looped")
    random = np.random.default_rng(5)
    nodes, constants, before = [], [], "x"
    for i, (cin, cout, stride) in enumerate([(3, 16, 2), (16, 16, 1), (16, 16, 1), (16, 32, 4), (32, 32, 2)]):
        weights = (random.standard_normal((cout, cin, 3, 3)) / np.sqrt(9 * cin)).astype(np.float32)
        constants.append(numpy_helper.from_array(weights, f"w{i}"))
        nodes.append(helper.make_node("Conv", [before, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[1] * 4, strides=[stride] * 2))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"], f"relu{i}"))
        before = f"r{i}"
    shape = [4, 3, 512, 256]
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(before, TensorProto.FLOAT, [4, 32, 32, 16])], constants,
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(folder / "m.onnx"))
    np.savez(folder / "in.npz", x=random.standard_normal(shape).astype(np.float32))
    objects = []
    for level in (0, 1):
        objects.append(folder / f"m{level}.stcobj")
        result = run_tool("compile", folder / "m.onnx", "-o", objects[-1], "--level", level)
        assert result.returncode == 0, result.stderr
    assert any(k["parts"] > 1 for k in kernels(objects[1])), "nothing works through the batch in parts"
    return folder / "m.onnx", folder / "in.npz", objects


@pytest.mark.parametrize("node", ["relu0", "relu1", "relu2", "relu3", "relu4"])
def test_dump_after_with_parts(looped, tmp_path, node):
    """The parts of the batch are put together, wherever the result lies."""
    _, inputs, objects = looped
    dumps = []
    for level, path in enumerate(objects):
        result = run_tool("run", path, "--input", inputs, "--dump-after", f"{node}={tmp_path}/{level}.npy")
        assert result.returncode == 0, result.stderr
        dumps.append(np.load(tmp_path / f"{level}.npy"))
    assert dumps[0].shape[0] == 4 and dumps[0].any() and np.array_equal(*dumps)


def test_compare_with_float_and_parts(looped):
    model, inputs, objects = looped
    tables = []
    for path in objects:
        result = run_tool("run", path, "--input", inputs, "--compare", "float", "--model", model)
        assert result.returncode == 0, result.stderr
        assert "no layer's cosine is below 0.99" in result.stdout, result.stdout
        lines = [line for line in result.stdout.splitlines() if line.startswith("relu") and "other layout" not in line]
        tables.append(lines)
    assert len(tables[0]) >= 5 and tables[0] == tables[1]


def test_core_dump(level0, tmp_path):
    path, inputs = level0
    core = tmp_path / "core.elf"
    result = run_tool("run", path, "--input", inputs, "--max-instructions", "3000", "--core-dump", core)
    assert result.returncode == 3 and "no end after 3000 instructions" in result.stderr
    shown = run_tool("inspect", core)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("no end after 3000 instructions")
    for text in ("\ncore 0 at 0x", "\ncore 7 at 0x", ": running", "  sp ", "mte_shape", "\nWritten memory\n"):
        assert text in shown.stdout, text
    # Core 0's stack holds a return address into the program.
    stack = int(re.search(r"  sp ([0-9A-F]{8})", shown.stdout)[1], 16)
    words = []
    for line in run_tool("inspect", core, "--memory", f"0x{stack:08X}:512").stdout.splitlines():
        data = bytes.fromhex(line.split(":")[1])  # what was written may end within a word
        words += np.frombuffer(data[: len(data) // 4 * 4], "<u4").tolist()
    assert any(0x01400000 < word < 0x01410000 for word in words), words
    # L1 is each core's own.
    address = re.search(r"  0x(C00[0-9A-F]{5})\.\.0x\w+ core 7", shown.stdout)[1]
    shown = run_tool("inspect", core, "--memory", f"0x{address}:16", "--core", "7")
    assert re.fullmatch(rf"  {address}:( [0-9a-f]{{2}}){{16}}\n", shown.stdout), shown.stdout
    for wrong in ("0x100", "0x100:0", "x:y"):
        assert run_tool("inspect", core, "--memory", wrong).returncode == 1
    # A model is no core dump, and the other way round.
    assert run_tool("inspect", path, "--memory", "0x0:16").returncode == 1
    assert run_tool("run", core, "--input", inputs).returncode == 1


def test_no_core_dump_of_a_good_run(level0, tmp_path):
    path, inputs = level0
    result = run_tool("run", path, "--input", inputs, "--core-dump", tmp_path / "core.elf")
    assert result.returncode == 0 and not (tmp_path / "core.elf").exists()
