"""Small graphs made here, against NumPy: broadcasts of computed tensors, gathers, normalisations."""

import json

import numpy as np
import pytest

import harness

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

CONFIGURATIONS = [(1, 0), (2, 1), (4, 0), (8, 0), (8, 1)]


def save(path, nodes, inputs, outputs, constants=None, opset=17):
    """`inputs` and `outputs`: name to array; returns the path."""

    def info(name, array):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    graph = helper.make_graph(
        nodes, "graph", [info(n, a) for n, a in inputs.items()], [info(n, a) for n, a in outputs.items()],
        [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
    return path


def check(folder, nodes, inputs, outputs, constants=None, opset=17, on_host=(), least=0.9995, configurations=None):
    """All nodes but `on_host` run on the NPU and give `outputs`; the two levels give the same bits."""
    path = save(folder / "m.onnx", nodes, inputs, outputs, constants, opset)
    first = {}
    for ncore, level in configurations or CONFIGURATIONS:
        made, report = folder / "m.stcobj", folder / "r.json"
        result = harness.run_tool("compile", path, "-o", made, "--ncore", ncore, "--level", level, "--report", report)
        assert result.returncode == 0, result.stderr
        host = [n for n in json.loads(report.read_text())["nodes"] if n["where"] == "host" and n["op"] not in on_host]
        assert not host, host
        result, got = harness.run_model(made, inputs, folder)
        assert result.returncode == 0, result.stderr
        for name, want in outputs.items():
            assert got[name].shape == want.shape
            assert np.isfinite(got[name]).all(), f"ncore {ncore}, level {level}"
            assert harness.cosine(got[name], want) >= least, f"ncore {ncore}, level {level}"
            error = np.abs(got[name] - want).max() / max(1.0, np.abs(want).max())
            assert error < 0.02, f"ncore {ncore}, level {level}: {error}"
            if name in first and ncore == 8:
                assert np.array_equal(first[name], got[name]), "levels differ"
            if ncore == 8:
                first[name] = got[name]


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


#: Shape of the larger operand, shape of the smaller one.
BROADCASTS = [
    ((2, 9, 9, 40), (2, 1, 1, 40)),
    ((2, 9, 9, 40), (1, 9, 9, 1)),
    ((3, 5, 6, 7), (3, 5, 1, 1)),
    ((3, 5, 6, 7), (1, 5, 1, 1)),
    ((3, 5, 6, 7), (3, 1, 6, 1)),
    ((3, 5, 6, 7), (3, 1, 6, 7)),
    ((3, 5, 6, 7), (5, 1, 7)),
    ((4, 2, 33, 33), (33, 33)),
    ((4, 2, 33, 33), (4, 1, 1, 33)),
    ((4, 2, 33, 33), (1,)),
    ((2, 60, 768), (2, 60, 1)),
    ((2, 60, 768), (60, 768)),
    ((7, 1, 5), (7, 1, 1)),
    ((300, 70), (70,)),
]


@pytest.mark.parametrize("large,small", BROADCASTS, ids=str)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
def test_broadcast(tmp_path, large, small, op):
    if not harness.FULL and op in ("Add", "Mul") and BROADCASTS.index((large, small)) % 2:
        pytest.skip("every other shape")
    x, y = numbers(1, *large), numbers(2, *small)
    if op == "Div":
        y = np.sign(y) * (np.abs(y) + 0.5)
    # Both operands are computed, so that neither is an input of the model.
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Neg", ["y"], ["b"]),
        helper.make_node(op, ["a", "b"], ["z"]),
        helper.make_node("Relu", ["z"], ["r"]),
        helper.make_node("Neg", ["y"], ["c"]) if op == "Sub" else helper.make_node("Neg", ["b"], ["c"]),
        helper.make_node("Sub", ["c", "a"], ["s"]),
    ]
    f = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[op]
    out = {"r": np.maximum(f(-x, -y), 0), "s": (-y if op == "Sub" else y) + x}
    check(tmp_path, nodes, {"x": x, "y": y}, out, configurations=[(1, 0), (8, 0), (8, 1)])


@pytest.mark.parametrize(
    "small,large",
    [((1, 1, 40), (3, 9, 40)), ((5, 1), (5, 77)), ((3, 1, 4), (3, 6, 4)), ((1,), (3, 300))],
    ids=str,
)
def test_expand(tmp_path, small, large):
    x = numbers(1, *small)
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Expand", ["a", "shape"], ["b"]),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    want = np.broadcast_to(np.maximum(-x, 0), large)
    check(tmp_path, nodes, {"x": x}, {"y": want}, {"shape": np.array(large, np.int64)})


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("rows,width", [(50, 64), (20000, 96), (9, 3)])
def test_embedding(tmp_path, rows, width, dtype):
    table = numbers(3, rows, width)
    index = np.random.default_rng(4).integers(-rows, rows, (2, 37)).astype(dtype)
    index[0, :4] = [0, rows - 1, -1, -rows]
    nodes = [helper.make_node("Gather", ["table", "i"], ["y"], axis=0)]
    check(tmp_path, nodes, {"i": index}, {"y": table[index]}, {"table": table})


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather_computed(tmp_path, axis):
    x = numbers(5, 6, 5, 8)
    index = np.array([[1, -2], [3, 0], [-1, 2]], np.int64)
    nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Gather", ["a", "i"], ["y"], axis=axis)]
    check(tmp_path, nodes, {"x": x, "i": index}, {"y": np.take(-x, index, axis)})


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gather_stays_inside(tmp_path, dtype):
    """ONNX forbids indices out of range; whatever comes, nothing outside of the table is read."""
    table = numbers(6, 40, 16)
    top = np.iinfo(dtype).max
    index = np.array([40, 41, -41, top, -top, -top - 1, 2**31 - 1, -(2**31), 7, 1 << 20], dtype)
    if dtype == np.int64:
        index[8] = (1 << 32) + 3
    path = save(
        tmp_path / "m.onnx", [helper.make_node("Gather", ["table", "i"], ["y"], axis=0)], {"i": index},
        {"y": numbers(0, 10, 16)}, {"table": table},
    )  # fmt: skip
    for ncore in (1, 8):
        made = tmp_path / "m.stcobj"
        assert harness.run_tool("compile", path, "-o", made, "--ncore", ncore).returncode == 0
        result, got = harness.run_model(made, {"i": index}, tmp_path)
        assert result.returncode == 0, result.stderr
        ends = [39, 39, 0, 39, 0, 0, 39, 0, 39 if dtype == np.int64 else 7, 39]
        assert np.array_equal(got["y"], table[ends].astype(np.float16).astype(np.float32))


def standardised(x, axes, epsilon=1e-5):
    d = x.astype(np.float64) - x.mean(axes, keepdims=True, dtype=np.float64)
    return d / np.sqrt((d * d).mean(axes, keepdims=True) + epsilon)


@pytest.mark.parametrize("scale", [0.002, 0.02, 1.0, 90.0])
@pytest.mark.parametrize("shape", [(2, 65, 768), (5, 33), (3, 4, 2049), (70, 64)], ids=str)
def test_layer_norm(tmp_path, shape, scale):
    x = numbers(7, *shape) * np.float32(scale) + np.float32(0.5 * scale)
    x = x.astype(np.float16).astype(np.float32)
    gamma, beta = numbers(8, shape[-1]) + 2, numbers(9, shape[-1])
    want = (standardised(x, -1) * gamma + beta).astype(np.float32)
    nodes = [helper.make_node("LayerNormalization", ["x", "g", "b"], ["y"], axis=-1)]
    check(tmp_path, nodes, {"x": x}, {"y": want}, {"g": gamma, "b": beta})


def test_layer_norm_of_equal_elements(tmp_path):
    x = np.full((4, 96), 3.0, np.float32)
    beta = numbers(9, 96)
    nodes = [helper.make_node("LayerNormalization", ["x", "g", "b"], ["y"], axis=-1, epsilon=1e-12)]
    want = np.broadcast_to(beta, (4, 96)).copy()
    check(tmp_path, nodes, {"x": x}, {"y": want}, {"g": np.ones(96, np.float32), "b": beta})


@pytest.mark.parametrize("groups", [2, 6])
def test_group_norm(tmp_path, groups):
    x = numbers(10, 2, 6, 13, 11) * 3 + 1
    gamma, beta = numbers(11, 6) + 2, numbers(12, 6)
    split = x.reshape(2, groups, -1)
    want = standardised(split, -1).reshape(x.shape) * gamma[:, None, None] + beta[:, None, None]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Reshape", ["c", "split"], ["s"]),
        helper.make_node("InstanceNormalization", ["s", "ones", "zeros"], ["n"]),
        helper.make_node("Reshape", ["n", "joined"], ["j"]),
        helper.make_node("Mul", ["j", "g"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["y"]),
    ]
    constants = {
        "w": np.eye(6, dtype=np.float32).reshape(6, 6, 1, 1), "g": gamma.reshape(6, 1, 1), "b": beta.reshape(6, 1, 1),
        "split": np.array([2, groups, -1], np.int64), "joined": np.array([2, 6, 13, 11], np.int64),
        "ones": np.ones(groups, np.float32), "zeros": np.zeros(groups, np.float32),
    }  # fmt: skip
    check(tmp_path, nodes, {"x": x}, {"y": want.astype(np.float32)}, constants)


@pytest.mark.parametrize("axes", [[1, 2], [2, 3], [3]], ids=str)
def test_means_of_many(tmp_path, axes):
    """Sums of thousands of halves lose no more than a few units of the last place."""
    x = np.abs(numbers(13, 2, 64, 80, 33)) + 0.5
    nodes = [helper.make_node("ReduceMean", ["x"], ["y"], axes=axes, keepdims=1)]
    want = x.astype(np.float16).astype(np.float64).mean(tuple(axes), keepdims=True).astype(np.float32)
    check(tmp_path, nodes, {"x": x}, {"y": want}, least=0.999999)


@pytest.mark.parametrize("m,k,n", [(40, 64, 50), (200, 3, 1), (1, 700, 33), (130, 2500, 70), (300, 90, 300)])
@pytest.mark.parametrize("constant", [False, True])
def test_batched_product(tmp_path, m, k, n, constant):
    """Attention's products, and one with a constant."""
    x, y = numbers(14, 2, 3, m, k), numbers(15, 2, 3, k, n) / np.float32(k**0.5)
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Add", ["y", "zero"] if constant else ["y", "a00"], ["b"]),
        helper.make_node("MatMul", ["a", "b"], ["p"]),
        helper.make_node("Add", ["p", "c"], ["z"]),
    ]
    c = numbers(16, 2, 3, m, n)
    inputs, constants = {"x": x, "c": c}, {"zero": np.zeros(1, np.float32)}
    if constant:
        constants["y"] = y
    else:
        inputs |= {"y": y, "a00": np.zeros((1, 1, 1, n), np.float32)}
    check(tmp_path, nodes, inputs, {"z": -x @ y + c}, constants, least=0.999)


def test_scores(tmp_path):
    """q times k transposed, scaled, softmax, times v: one head each slice."""
    q, k, v = (numbers(s, 2, 5, 70, 32) for s in (17, 18, 19))
    nodes = [
        helper.make_node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "t"], ["s"]),
        helper.make_node("Div", ["s", "d"], ["e"]),
        helper.make_node("Softmax", ["e"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    scores = q @ k.transpose(0, 1, 3, 2) / np.float32(32**0.5)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    want = (p / p.sum(-1, keepdims=True)) @ v
    check(tmp_path, nodes, {"q": q, "k": k, "v": v}, {"y": want}, {"d": np.float32(32**0.5)})


#: Shape, permutation, by the kernel's way: tiles of a matrix, tiny matrices, small ones, rows, blocks of rows.
TRANSPOSES = [
    ((2, 3, 70, 70), (0, 2, 3, 1)),
    ((2, 70, 70, 3), (0, 3, 1, 2)),
    ((700, 900), (1, 0)),
    ((3, 40000), (1, 0)),
    ((40000, 3), (1, 0)),
    ((500, 2, 5), (0, 2, 1)),
    ((500, 2, 58), (0, 2, 1)),
    ((3, 29, 41, 8), (0, 2, 1, 3)),
    ((2, 128, 12, 64), (0, 2, 1, 3)),
    ((3, 4000, 16), (1, 0, 2)),
    ((200, 3, 33), (1, 0, 2)),
]


@pytest.mark.parametrize("shape,permutation", TRANSPOSES, ids=str)
def test_transpose(tmp_path, shape, permutation):
    x = numbers(20, *shape)
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Transpose", ["a"], ["t"], perm=permutation),
        helper.make_node("Neg", ["t"], ["y"]),
    ]
    check(tmp_path, nodes, {"x": x}, {"y": x.transpose(permutation)}, least=0.9999999)


def depthwise(x, w, stride, pads):
    """Reference in float64, NCHW."""
    top, left, bottom, right = pads
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    kh, kw = w.shape[2:]
    oh, ow = (x.shape[2] - kh) // stride + 1, (x.shape[3] - kw) // stride + 1
    y = np.zeros((*x.shape[:2], oh, ow))
    for ky in range(kh):
        for kx in range(kw):
            part = x[:, :, ky : ky + stride * oh : stride, kx : kx + stride * ow : stride]
            y += part * w[:, 0, ky, kx][:, None, None]
    return y


#: Channels, height, width, kernel, stride, pads (top, left, bottom, right).
DEPTHWISE = [
    (64, 28, 28, 3, 1, (1, 1, 1, 1)),
    (192, 14, 14, 3, 1, (1, 1, 1, 1)),
    (40, 13, 9, 3, 1, (1, 1, 1, 1)),
    (96, 20, 24, 3, 2, (1, 1, 1, 1)),
    (96, 21, 24, 3, 2, (0, 0, 1, 1)),
    (48, 15, 17, 5, 1, (2, 2, 2, 2)),
    (48, 16, 16, 5, 2, (2, 2, 2, 2)),
    (72, 12, 10, 3, 1, (0, 0, 0, 0)),
    (72, 1, 30, 3, 1, (1, 1, 1, 1)),
    (12, 9, 9, 3, 1, (1, 1, 1, 1)),
    (32, 11, 11, 3, 2, (1, 1, 1, 1)),
    (960, 7, 7, 3, 1, (1, 1, 1, 1)),
    (48, 57, 56, 3, 1, (1, 1, 1, 1)),
    (32, 61, 64, 3, 1, (0, 1, 2, 1)),
    (32, 40, 40, 5, 1, (2, 2, 2, 2)),
]


@pytest.mark.parametrize("case", DEPTHWISE, ids=str)
def test_depthwise(tmp_path, case):
    """Both engines share the channels; with a clipped activation and a residual behind."""
    channels, height, width, kernel, stride, pads = case
    x = numbers(21, 3, channels, height, width)
    w, b = numbers(22, channels, 1, kernel, kernel) / kernel, numbers(23, channels)
    y = depthwise(x, w, stride, pads) + b[:, None, None]
    r = numbers(24, *y.shape)
    attributes = {"group": channels, "strides": [stride] * 2, "pads": list(pads), "kernel_shape": [kernel] * 2}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], **attributes),
        helper.make_node("Clip", ["c", "low", "high"], ["y"]),
        helper.make_node("Conv", ["x", "w", "b"], ["d"], **attributes),
        helper.make_node("Add", ["d", "r"], ["z"]),
    ]
    out = {"y": np.clip(y, 0, 1.5).astype(np.float32), "z": (y + r).astype(np.float32)}
    constants = {"w": w, "b": b, "low": np.float32(0), "high": np.float32(1.5)}
    check(tmp_path, nodes, {"x": x, "r": r}, out, constants, configurations=[(1, 0), (2, 0), (8, 0), (8, 1)])


@pytest.mark.parametrize("shape,axis,parts", [
    ((2, 24, 9, 11), 1, (5, 16, 3)),
    ((2, 24, 9, 11), 2, (4, 5)),
    ((3, 700), 0, (1, 2)),
    ((3, 700), 1, (1, 698, 1)),
    ((700, 3), 1, (2, 1)),
], ids=str)  # fmt: skip
def test_split_and_concatenate(tmp_path, shape, axis, parts):
    """Parts in another order, one of them a constant."""
    x, c = numbers(25, *shape), numbers(26, *[2 if i == axis else e for i, e in enumerate(shape)])
    names = [f"p{i}" for i in range(len(parts))]
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Split", ["a", "parts"], names, axis=axis),
        helper.make_node("Concat", [*names[::-1], "c", names[0]], ["b"], axis=axis),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    pieces = np.split(-x, np.cumsum(parts)[:-1], axis)
    want = np.maximum(np.concatenate([*pieces[::-1], c, pieces[0]], axis), 0)
    check(tmp_path, nodes, {"x": x}, {"y": want}, {"parts": np.array(parts, np.int64), "c": c}, least=0.9999999)


#: Kernel, stride, pads, ceil_mode; the last windows reach beyond the map's border in some.
POOLS = [
    ((3, 3), (2, 2), (1, 1, 1, 1), 0),
    ((3, 3), (1, 1), (1, 1, 1, 1), 0),
    ((2, 2), (2, 2), (0, 0, 0, 0), 0),
    ((3, 2), (2, 3), (1, 0, 0, 1), 0),
    ((5, 5), (3, 3), (2, 2, 2, 2), 1),
    ((1, 3), (1, 2), (0, 1, 0, 1), 0),
    ((7, 1), (1, 1), (3, 0, 3, 0), 0),
]


@pytest.mark.parametrize("kernel,stride,pads,ceil", POOLS, ids=str)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pool(tmp_path, op, kernel, stride, pads, ceil):
    ort = pytest.importorskip("onnxruntime")
    x = numbers(27, 2, 72, 23, 20) - 2
    attributes = {"kernel_shape": kernel, "strides": stride, "pads": pads, "ceil_mode": ceil}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node(op, ["c"], ["y"], **attributes),
    ]
    w = np.eye(72, dtype=np.float32).reshape(72, 72, 1, 1)
    shape = [
        -(-(e + b + a - k) // s) + 1 if ceil else (e + b + a - k) // s + 1
        for e, k, s, b, a in zip((23, 20), kernel, stride, pads[:2], pads[2:])
    ]
    path = save(tmp_path / "r.onnx", nodes, {"x": x}, {"y": np.zeros((2, 72, *shape), np.float32)}, {"w": w})
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    want = session.run(None, {"x": x})[0]
    check(tmp_path, nodes, {"x": x}, {"y": want}, {"w": w}, configurations=[(1, 0), (4, 0), (8, 0), (8, 1)])


#: Functions of "x" as nodes: gelu by erf and by tanh, swish, hard swish; the last name of each is its result.
FUNCTIONS = {
    "erf": "Div x root2 d, Erf d e, Add e one a, Mul x a m, Mul m half y",
    "tanh": "Mul x x s, Mul x s c, Mul c k e, Add x e f, Mul f l g, Tanh g t, Add t one a, Mul x half h, Mul h a y",
    "swish": "Sigmoid x s, Mul x s y",
    "hard swish": "Add x three a, Clip a zero six b, Mul x b m, Div m six y",
}


@pytest.mark.parametrize("kind", ["erf", "tanh", "swish", "hard swish"])
@pytest.mark.parametrize("rows", [3, 1500])
def test_function_of_one_element(tmp_path, kind, rows):
    """Behind a layer and by itself."""
    ort = pytest.importorskip("onnxruntime")
    x, w = numbers(28, rows, 48) * 2, numbers(29, 48, 400) / np.float32(7)
    constants = {"root2": 2**0.5, "one": 1, "half": 0.5, "k": 0.044715, "l": (2 / np.pi) ** 0.5}
    constants |= {"w": w, "three": 3, "six": 6, "zero": 0}
    constants = {n: np.asarray(v, np.float32) for n, v in constants.items()}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Neg", ["x"], ["n"])]
    for start, prefix in (("p", ""), ("n", "z")):
        rename = {n: n for n in constants} | {"x": start}
        for step in FUNCTIONS[kind].split(", "):
            op, *names = step.split()
            names = [rename.get(n, prefix + n) for n in names]
            nodes.append(helper.make_node(op, names[:-1], names[-1:]))
    shapes = {"y": np.zeros((rows, 400), np.float32), "zy": np.zeros((rows, 48), np.float32)}
    path = save(tmp_path / "r.onnx", nodes, {"x": x}, shapes, constants)
    want = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    check(tmp_path, nodes, {"x": x}, dict(zip(shapes, want)), constants, configurations=[(1, 0), (8, 0), (8, 1)])
