"""Operators on the host against NumPy: relay functions compiled and run by tt-run-host."""

import math
import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(os.environ.get("TT_BUILD", ROOT / "build")) / "bin" / "tt-run-host"
pytestmark = pytest.mark.skipif(not TOOL.exists(), reason=f"{TOOL} is not built")

rng = np.random.default_rng(7)
TYPES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "ui8", "uint16": "ui16",
    "uint32": "ui32", "uint64": "ui64", "float16": "f16", "float32": "f32", "float64": "f64",
}


def tensor_type(array):
    return "tensor<" + "".join(f"{d}x" for d in array.shape) + TYPES[array.dtype.name] + ">"


class Program:
    """One relay function of many independent ops."""

    def __init__(self):
        self.inputs, self.lines, self.outputs = [], [], []

    def op(self, name, inputs, expected, **attributes):
        inputs = [np.asarray(x) for x in inputs]
        expected = [np.asarray(x) for x in (expected if isinstance(expected, (list, tuple)) else [expected])]
        operands = []
        for array in inputs:
            operands.append(f"%i{len(self.inputs)}")
            self.inputs.append(array)
        text = ", ".join(f"{k} = {attribute(v)}" for k, v in attributes.items())
        results = ", ".join(map(tensor_type, expected))
        first = len(self.outputs)
        count = f":{len(expected)}" if len(expected) > 1 else ""
        self.lines.append(
            f"  %r{first}{count} = relay.{name} {', '.join(operands)} {{{text}}} : "
            f"({', '.join(map(tensor_type, inputs))}) -> ({results})"
        )
        for i, array in enumerate(expected):
            value = f"%r{first}#{i}" if len(expected) > 1 else f"%r{first}"
            self.outputs.append((value, f"{name}.{len(self.outputs)}", array))

    def run(self, folder, tolerance):
        arguments = ", ".join(f'%i{i}: {tensor_type(a)} {{relay.name = "i{i}"}}' for i, a in enumerate(self.inputs))
        results = ", ".join(f'{tensor_type(a)} {{relay.name = "{n}"}}' for _, n, a in self.outputs)
        body = "\n".join(self.lines)
        names, types = ", ".join(v for v, _, _ in self.outputs), ", ".join(tensor_type(a) for _, _, a in self.outputs)
        text = f"func.func @main({arguments}) -> ({results}) {{\n{body}\n  return {names} : {types}\n}}\n"
        (folder / "m.mlir").write_text(text)
        data = {f"in.i{i}": a for i, a in enumerate(self.inputs)}
        data.update({f"out.{n}": a for _, n, a in self.outputs})
        np.savez(folder / "m.npz", **data)
        command = [TOOL, folder / "m.mlir", "--data", folder / "m.npz", "--tolerance", str(tolerance)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        wrong = [line for line in done.stdout.splitlines() if "WRONG" in line]
        assert done.returncode == 0 and not wrong, "\n".join(wrong) + done.stderr + f"\nreproduce: {command}"
        assert done.stdout.count(": ok") == len(self.outputs)


def attribute(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, float):
        return f"{value:.17e} : f64"
    if isinstance(value, str):
        return f'"{value}"'
    kind = "f64" if value and isinstance(value[0], float) else "i64"
    return f"array<{kind}: {', '.join(map(str, value))}>" if value else f"array<{kind}>"


def f32(*shape, low=-3.0, high=3.0):
    return rng.uniform(low, high, shape).astype(np.float32)


@pytest.fixture
def program(tmp_path):
    p = Program()
    yield p


def test_unary(program, tmp_path):
    x, positive, unit = f32(2, 5), f32(2, 5, low=0.1), f32(2, 5, low=-0.9, high=0.9)
    for name in "exp sin cos tan atan sinh cosh tanh floor ceil trunc abs negative sign".split():
        program.op(name, [x], getattr(np, {"atan": "arctan", "abs": "absolute"}.get(name, name))(x))
    for name in "log log2 log10 sqrt".split():
        program.op(name, [positive], getattr(np, name)(positive))
    for name, reference in {"asin": np.arcsin, "acos": np.arccos, "atanh": np.arctanh}.items():
        program.op(name, [unit], reference(unit))
    program.op("asinh", [x], np.arcsinh(x))
    program.op("acosh", [positive + 1], np.arccosh(positive + 1))
    program.op("rsqrt", [positive], 1 / np.sqrt(positive))
    program.op("sigmoid", [x * 30], (1 / (1 + np.exp(-x.astype(np.float64) * 30))).astype(np.float32))
    program.op("erf", [x], np.vectorize(math.erf)(x).astype(np.float32))
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997], np.float32)
    program.op("round", [halves], np.round(halves))
    integers = np.array([-5, 0, 7], np.int32)
    for name in "floor ceil round trunc copy".split():
        program.op(name, [integers], integers)
    program.op("abs", [integers], np.abs(integers))
    program.op("negative", [integers], -integers)
    program.op("sign", [integers], np.sign(integers))
    program.op("bitwise_not", [integers], ~integers)
    program.op("bitwise_not", [np.array([0, 200], np.uint8)], ~np.array([0, 200], np.uint8))
    flags = np.array([True, False])
    program.op("logical_not", [flags], ~flags)
    special = np.array([1, np.nan, np.inf, -np.inf, 0], np.float32)
    program.op("isnan", [special], np.isnan(special))
    program.op("isinf", [special], np.isinf(special))
    program.op("isfinite", [special], np.isfinite(special))
    program.op("zeros_like", [x], np.zeros_like(x))
    program.op("ones_like", [integers], np.ones_like(integers))
    program.op("nn.relu", [special], np.maximum(special, 0))
    program.op("nn.relu", [integers], np.maximum(integers, 0))
    program.op("nn.leaky_relu", [x], np.where(x > 0, x, np.float32(0.1) * x), alpha=0.1)
    program.op("clip", [x], np.clip(x, -1, 2), a_min=-1.0, a_max=2.0)
    program.op("clip", [integers], np.clip(integers, -2, 6), a_min=-2.5, a_max=6.5)
    program.op("clip", [np.array([0, 255], np.uint8)], np.array([3, 255], np.uint8), a_min=2.5, a_max=1e9)
    program.run(tmp_path, 2e-6)


def test_binary(program, tmp_path):
    x, y = f32(2, 1, 4), f32(3, 1)
    for name in "add subtract multiply divide maximum minimum floor_divide".split():
        program.op(name, [x, y], getattr(np, {"floor_divide": "floor_divide"}.get(name, name))(x, y))
    program.op("power", [np.abs(x), y], np.abs(x) ** y)
    program.op("mod", [x, y], np.fmod(x, y))
    program.op("floor_mod", [x, y], np.mod(x, y))
    program.op("trunc_divide", [x, y], np.trunc(x / y))
    nan = np.array([np.nan, 1], np.float32)
    program.op("maximum", [nan, np.float32(0)], np.maximum(nan, 0))
    for dtype in (np.int8, np.int32, np.int64, np.uint8, np.uint32):
        signed = np.issubdtype(dtype, np.signedinteger)
        a = np.array([7, -7 if signed else 249, 7, -8 if signed else 8, 0, 5], dtype)
        b = np.array([2, 2, -2 if signed else 200, -3 if signed else 3, 5, 5], dtype)
        wide, other = a.astype(object), b.astype(object)
        trunc = np.array([int(p / q) for p, q in zip(wide, other)], dtype)
        for name in "add subtract multiply maximum minimum".split():
            program.op(name, [a, b], getattr(np, name)(a, b))
        program.op("divide", [a, b], trunc)
        program.op("trunc_divide", [a, b], trunc)
        program.op("mod", [a, b], np.fmod(a, b))
        program.op("floor_divide", [a, b], a // b)
        program.op("floor_mod", [a, b], np.mod(a, b))
        for name in "less less_equal greater greater_equal equal not_equal".split():
            program.op(name, [a, b], getattr(np, name)(a, b))
        for name in "and or xor".split():
            program.op("bitwise_" + name, [a, b], getattr(np, "bitwise_" + name)(a, b))
        shifts = np.array([0, 1, 2, 7, 3, 1], dtype)
        program.op("left_shift", [a, shifts], np.left_shift(a, shifts))
        program.op("right_shift", [a, shifts], np.right_shift(a, shifts))
        zero = np.zeros(1, dtype)
        program.op("divide", [a, zero], np.zeros_like(a))
        program.op("mod", [a, zero], np.zeros_like(a))
        least = np.array([np.iinfo(dtype).min], dtype)
        if signed:
            program.op("divide", [least, np.array([-1], dtype)], least)
            program.op("mod", [least, np.array([-1], dtype)], np.zeros(1, dtype))
    program.op("power", [np.array([2, -3, 5], np.int32), np.array([10, 3, 0], np.int32)],
               np.array([1024, -27, 1], np.int32))
    p, q = np.array([True, True, False, False]), np.array([True, False, True, False])
    for name in "and or xor".split():
        program.op("logical_" + name, [p, q], getattr(np, "logical_" + name)(p, q))
    special = np.array([np.nan, 1], np.float32)
    for name in "less less_equal equal not_equal".split():
        program.op(name, [special, special], getattr(np, name)(special, special))
    condition = np.array([[True], [False]])
    program.op("where", [condition, f32(3) * 0 + 1, f32(2, 3) * 0], np.where(condition, np.ones((2, 3)), 0).astype("f4"))
    program.run(tmp_path, 2e-6)


def test_half_is_rounded_once(program, tmp_path):
    x = rng.uniform(-3, 3, (4, 5)).astype(np.float16)
    y = rng.uniform(0.5, 3, (4, 5)).astype(np.float16)
    for name in "add subtract multiply divide".split():
        reference = getattr(np, name)(x.astype(np.float32), y.astype(np.float32)).astype(np.float16)
        program.op(name, [x, y], reference)
    program.op("sqrt", [y], np.sqrt(y.astype(np.float32)).astype(np.float16))
    program.op("sum", [x], np.sum(x.astype(np.float64)).astype(np.float16))
    program.op("nn.relu", [x], np.maximum(x, np.float16(0)))
    program.op("greater", [x, y], x > y)
    program.run(tmp_path, 0)


def test_casts(program, tmp_path):
    x = np.array([-2.7, -0.5, 0, 0.5, 1.5, 2.7, 100.9], np.float32)
    for dtype in "int8 int16 int32 int64 float16 float64".split():
        program.op("cast", [x], x.astype(dtype), dtype=dtype)
    positive = np.abs(x)
    for dtype in "uint8 uint16 uint32 uint64".split():
        program.op("cast", [positive], positive.astype(dtype), dtype=dtype)
    program.op("cast", [x], x != 0, dtype="bool")
    for source in "int8 int32 int64 uint8 uint32".split():
        integers = np.array([0, 1, 100, -1], np.int64).astype(source)
        for target in "int8 int16 int64 uint8 uint16 uint64 float16 float32 float64 bool".split():
            if (source, target) != ("uint32", "float16"):
                program.op("cast", [integers], integers.astype(target), dtype=target)
    flags = np.array([True, False])
    for target in "int8 int64 uint8 float32 float16".split():
        program.op("cast", [flags], flags.astype(target), dtype=target)
    big = np.array([2**63 + 2**40, 2**64 - 2**12], np.uint64)
    program.op("cast", [big], big.astype(np.float32), dtype="float32")
    program.run(tmp_path, 0)


def test_reductions(program, tmp_path):
    x = f32(3, 4, 5)
    for axes in ([0], [1, 2], [0, 1, 2], [-1]):
        for keep in (False, True):
            for name, reference in {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}.items():
                program.op(name, [x], reference(x, axis=tuple(axes), keepdims=keep), axis=axes, keepdims=keep)
    program.op("sum", [x], np.sum(x, axis=(0, 2)), axis=[1], exclude=True)
    program.op("logsumexp", [x * 50], np.log(np.sum(np.exp(x.astype("f8") * 50), axis=1)).astype("f4"), axis=[1])
    mean = x.mean(axis=1, keepdims=True)
    program.op("variance", [x, mean], x.var(axis=1), axis=[1])
    program.op("variance", [x, mean], x.var(axis=1, ddof=1, keepdims=True), axis=[1], keepdims=True, unbiased=True)
    flags = rng.random((3, 4)) > 0.5
    program.op("all", [flags], flags.all(axis=1), axis=[1])
    program.op("any", [flags], flags.any(axis=0, keepdims=True), axis=[0], keepdims=True)
    ties = np.array([[1, 3, 3, 0], [np.nan, 1, np.nan, 2]], np.float32)
    program.op("argmax", [ties], np.array([1, 0], np.int32), axis=[1])
    program.op("argmax", [ties[:1]], np.array([2], np.int32), axis=[1], select_last_index=True)
    program.op("argmin", [x], x.argmin(axis=0).astype(np.int32), axis=[0])
    program.op("argmax", [x], np.array(x.argmax(), np.int32))
    program.op("sum", [np.array([200, 100], np.uint8)], np.array(44, np.uint8))
    program.op("max", [np.array([200, 100], np.uint8)], np.array(200, np.uint8))
    program.op("cumsum", [x], np.cumsum(x, axis=1), axis=1)
    program.op("cumsum", [x], np.cumsum(x), )
    shifted = np.cumsum(x, axis=2) - x
    program.op("cumsum", [x], shifted, axis=2, exclusive=True)
    program.op("cumprod", [x], np.cumprod(x, axis=0), axis=0)
    program.op("cumsum", [np.array([1, 2, 3], np.int32)], np.array([1, 3, 6], np.int64), axis=0, dtype="int64")
    program.run(tmp_path, 5e-6)


def test_sorting(program, tmp_path):
    for n in (1, 2, 7, 64, 100):
        x = rng.integers(-20, 20, (2, n, 3)).astype(np.float32)
        order = np.argsort(x, axis=1, kind="stable")
        program.op("sort", [x], np.sort(x, axis=1), axis=1)
        program.op("argsort", [x], order.astype(np.int32), axis=1)
        down = np.argsort(-x, axis=1, kind="stable")
        program.op("argsort", [x], down.astype(np.int64), axis=1, is_ascend=False, dtype="int64")
        k = min(n, 5)
        program.op("topk", [x], [np.take_along_axis(x, down, 1)[:, :k], down[:, :k].astype(np.int64)], k=k, axis=1,
                   dtype="int64")
    program.op("topk", [x], [np.sort(x, axis=1)[:, :4]], k=4, axis=1, is_ascend=True, ret_type="values")
    nan = np.array([2, np.nan, 1, np.inf, np.nan, -np.inf], np.float32)
    program.op("sort", [nan], np.sort(nan), axis=0)
    unsigned = np.array([200, 3, 255, 0], np.uint8)
    program.op("sort", [unsigned], np.sort(unsigned), axis=0)
    program.run(tmp_path, 0)


def test_transforms(program, tmp_path):
    x = f32(2, 3, 4)
    program.op("reshape", [x], x.reshape(4, 6), newshape=[4, -1])
    program.op("reshape", [np.float32(3)], np.full((1, 1), 3, np.float32), newshape=[1, 1])
    program.op("squeeze", [f32(1, 1) * 0], np.zeros((), np.float32))
    program.op("expand_dims", [x], x[:, None], axis=1)
    program.op("transpose", [x], x.transpose(2, 0, 1), axes=[2, 0, 1])
    program.op("transpose", [x], x.T)
    program.op("layout_transform", [x[None]], x[None].transpose(0, 2, 3, 1), src_layout="NCHW", dst_layout="NHWC")
    program.op("concatenate", [x, x * 2, x[:, :1]], np.concatenate([x, x * 2, x[:, :1]], 1), axis=1)
    program.op("stack", [x, -x], np.stack([x, -x], -1), axis=-1)
    program.op("strided_slice", [x], x[:, 2:0:-1, 1::2], begin=[0, 2, 1], end=[2, 0, 4], strides=[1, -1, 2])
    program.op("strided_slice", [x], x[:, :, -2:], begin=[-2], end=[4], axes=[2])
    program.op("reverse", [x], x[:, ::-1], axis=1)
    program.op("broadcast_to", [x[:1]], np.broadcast_to(x[:1], (5, 3, 4)), shape=[5, 3, 4])
    program.op("tile", [x], np.tile(x, (2, 1, 3)), reps=[2, 1, 3])
    program.op("tile", [x], np.tile(x, (2, 1, 1, 2)), reps=[2, 1, 1, 2])
    program.op("repeat", [x], np.repeat(x, 3, 1), repeats=3, axis=1)
    program.op("repeat", [x], np.repeat(x, 2), repeats=2)
    program.op("full", [np.int64(7)], np.full((2, 2), 7, np.int64), shape=[2, 2])
    program.op("shape_of", [x], np.array([2, 3, 4], np.int64), dtype="int64")
    program.op("ndarray_size", [x], np.array(24, np.int32))
    program.op("zeros", [], np.zeros((2, 3), np.uint8), shape=[2, 3], dtype="uint8")
    program.op("ones", [], np.ones((2,), bool), shape=[2], dtype="bool")
    program.op("split", [x], list(np.split(x, [1], 1)), indices_or_sections=[1], axis=1)
    program.op("split", [x], list(np.split(x, 2, 2)), indices_or_sections=2, axis=2)
    image = np.arange(2 * 8 * 2 * 3, dtype=np.float32).reshape(2, 8, 2, 3)
    dcr = image.reshape(2, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(2, 2, 4, 6)
    crd = image.reshape(2, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 4, 6)
    program.op("nn.depth_to_space", [image], dcr, block_size=2)
    program.op("nn.depth_to_space", [image], crd, block_size=2, mode="CDR")
    program.op("nn.space_to_depth", [dcr], image, block_size=2)
    for mode, reference in {"constant": "constant", "edge": "edge", "reflect": "reflect"}.items():
        program.op("nn.pad", [x, np.float32(0)], np.pad(x, ((0, 0), (1, 2), (2, 1)), reference),
                   pad_width=[0, 0, 1, 2, 2, 1], pad_mode=mode)
    program.op("nn.pad", [x, np.float32(9)], np.pad(x, ((1, 0), (0, 0), (0, 0)), constant_values=9),
               pad_width=[1, 0, 0, 0, 0, 0])
    program.op("trilu", [x, np.int64(1)], np.triu(x, 1))
    program.op("trilu", [x, np.int64(0)], np.tril(x), upper=False)
    program.run(tmp_path, 0)


def test_indexing(program, tmp_path):
    x = f32(4, 5, 3)
    i = np.array([[0, 4], [2, 1]], np.int64)
    program.op("take", [x, i], np.take(x, i, 1), axis=1)
    program.op("take", [x, i], np.take(x, i))
    wild = np.array([-7, -1, 9, 2], np.int32)
    program.op("take", [x, wild], np.take(x, wild, 1, mode="clip"), axis=1)
    program.op("take", [x, wild], np.take(x, wild, 1, mode="wrap"), axis=1, mode="wrap")
    program.op("take", [x, wild], np.take(x, [0, 4, 4, 2], 1), axis=1, mode="fast")
    program.op("take", [x[:2], i], np.stack([x[0][i[0]], x[1][i[1]]]), axis=1, batch_dims=1)
    j = rng.integers(-5, 5, (4, 2, 3)).astype(np.int64)
    program.op("gather", [x, j], np.take_along_axis(x, j % 5, 1), axis=1)
    tuples = np.array([[0, 3, -1], [4, 0, 2]], np.int64)
    program.op("gather_nd", [x, tuples], x[tuples[0], tuples[1]])
    far = np.array([[99, -99]], np.int64)
    program.op("gather_nd", [x, far], x[[3, 0]])
    batched = np.array([[1, 2, 0, 4]], np.int64)
    program.op("gather_nd", [x, batched], np.stack([x[b, batched[0, b]] for b in range(4)]), batch_dims=1)
    updates = f32(4, 2, 3)
    distinct = np.stack([np.stack([rng.permutation(5)[:2] for _ in range(3)], 1) for _ in range(4)])
    put = x.copy()
    np.put_along_axis(put, distinct, updates, 1)
    program.op("scatter_elements", [x, distinct, updates], put, axis=1)
    twice = np.zeros((4, 2, 3), np.int64)
    program.op("scatter_elements", [x, twice, updates], x + np.eye(5, dtype="f4")[0][None, :, None] * updates.sum(1, keepdims=True),
               axis=1, reduction="add")
    program.op("scatter_elements", [x, twice + 50, updates], x, axis=1)
    nd = x.copy()
    nd[[0, 2], [1, 4]] = 5
    program.op("scatter_nd", [x, np.array([[0, 2], [1, -1]], np.int64), np.full((2, 3), 5, np.float32)], nd)
    hot = np.array([0, 2, -1, 9], np.int64)
    program.op("one_hot", [hot, np.float32(2), np.float32(-1)],
               np.where(hot[:, None] == np.arange(3), np.float32(2), np.float32(-1)), depth=3)
    program.op("one_hot", [hot, np.float32(1), np.float32(0)], (hot == np.arange(3)[:, None]).astype("f4"), depth=3, axis=0)
    program.run(tmp_path, 1e-6)


def convolution(x, w, stride, pad, dilation, groups):
    """NCHW, OIHW, float64."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    x = np.pad(x, ((0, 0), (0, 0), (pad[0], pad[2]), (pad[1], pad[3])))
    n, cin, h, wd = x.shape
    cout, per, kh, kw = w.shape
    oh = (h - (kh - 1) * dilation - 1) // stride + 1
    ow = (wd - (kw - 1) * dilation - 1) // stride + 1
    out = np.zeros((n, cout, oh, ow))
    for o in range(cout):
        g = o // (cout // groups)
        part = x[:, g * per:(g + 1) * per]
        for a in range(kh):
            for b in range(kw):
                ya, xb = a * dilation, b * dilation
                window = part[:, :, ya:ya + stride * oh:stride, xb:xb + stride * ow:stride][:, :, :oh, :ow]
                out[:, o] += np.einsum("nchw,c->nhw", window, w[o, :, a, b])
    return out


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolutions(program, tmp_path, groups):
    for stride, pad, dilation in [(1, (0, 0, 0, 0), 1), (2, (1, 0, 2, 1), 1), (1, (2, 2, 2, 2), 2)]:
        x, w = f32(2, 4, 9, 8), f32(8, 4 // groups, 3, 3)
        y = convolution(x, w, stride, pad, dilation, groups)
        common = dict(strides=[stride] * 2, padding=list(pad), dilation=[dilation] * 2, groups=groups)
        program.op("nn.conv2d", [x, w], y.astype("f4"), **common)
        program.op("nn.conv2d", [x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)], y.transpose(0, 2, 3, 1).astype("f4"),
                   data_layout="NHWC", kernel_layout="HWIO", **common)
        small, weight = (x / 4).astype(np.float16), (w / 4).astype(np.float16)
        program.op("nn.conv2d", [small, weight], convolution(small, weight, stride, pad, dilation, groups).astype("f4"),
                   out_dtype="float32", **common)
        # The transposed convolution is the gradient of the convolution: <conv(x), g> = <x, transposed(g)>.
        grad = f32(*y.shape)
        back = np.zeros(x.shape)
        for position in np.ndindex(*x.shape[1:]):
            probe = np.zeros((1, *x.shape[1:]))
            probe[(0, *position)] = 1
            response = convolution(probe, w, stride, pad, dilation, groups)[0]
            back[(slice(None), *position)] = np.einsum("nchw,chw->n", grad, response)
        extent = 2 * dilation + 1
        extra = [x.shape[2 + i] + pad[i] + pad[i + 2] - (stride * (y.shape[2 + i] - 1) + extent) for i in range(2)]
        program.op("nn.conv2d_transpose", [grad, w], back.astype("f4"), output_padding=extra, **common)
    x, w = f32(1, 4, 10), f32(4, 4 // groups, 3)
    y = convolution(x[:, :, None], w[:, :, None], 1, (0, 1, 0, 1), 1, groups)[:, :, 0]
    program.op("nn.conv1d", [x, w], y.astype("f4"), padding=[1, 1], groups=groups)
    program.run(tmp_path, 3e-6)


def test_matrices(program, tmp_path):
    a, b = f32(3, 4, 5), f32(3, 5, 6)
    program.op("nn.batch_matmul", [a, b], a @ b)
    program.op("nn.batch_matmul", [a[:1], b], a[:1] @ b)
    program.op("nn.batch_matmul", [a.transpose(0, 2, 1), b.transpose(0, 2, 1)], a @ b, transpose_a=True, transpose_b=True)
    program.op("nn.dense", [a, b[0].T], a @ b[0])
    program.op("nn.matmul", [a, b[0]], a @ b[0])
    program.op("nn.matmul", [a[0].T, b[0].T], a[0] @ b[0], transpose_a=True, transpose_b=True)
    program.op("nn.matmul", [a.transpose(0, 2, 1), b[0]], a @ b[0], transpose_a=True)
    i, j = rng.integers(-128, 128, (4, 5)).astype(np.int8), rng.integers(-128, 128, (6, 5)).astype(np.int8)
    program.op("nn.dense", [i, j], i.astype(np.int32) @ j.astype(np.int32).T, out_dtype="int32")
    program.op("nn.bias_add", [a, f32(4) * 0 + 1], a + 1, axis=1)
    program.run(tmp_path, 3e-6)


def test_normalisation(program, tmp_path):
    x = f32(2, 6, 4, 5)
    gamma, beta, mean, var = f32(6), f32(6), f32(6), f32(6, low=0.5)
    c = lambda v: v[:, None, None]
    program.op("nn.batch_norm", [x, gamma, beta, mean, var],
               [(x - c(mean)) / np.sqrt(c(var) + np.float32(1e-3)) * c(gamma) + c(beta), mean, var], epsilon=1e-3)
    normal = lambda v, axes: (v - v.mean(axes, keepdims=True)) / np.sqrt(v.var(axes, keepdims=True) + np.float32(1e-5))
    program.op("nn.instance_norm", [x, gamma, beta], normal(x, (2, 3)) * c(gamma) + c(beta))
    last_g, last_b = f32(5), f32(5)
    program.op("nn.layer_norm", [x, last_g, last_b], normal(x, 3) * last_g + last_b)
    grouped = normal(x.reshape(2, 3, 2, 4, 5), (2, 3, 4)).reshape(x.shape)
    program.op("nn.group_norm", [x, gamma, beta], grouped * c(gamma) + c(beta), num_groups=3)
    program.op("nn.l2_normalize", [x], x / np.sqrt((x * x).sum(1, keepdims=True)), eps=1e-10, axis=[1])
    squares = np.pad(x * x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    window = squares[:, :6] + squares[:, 1:7] + squares[:, 2:]
    program.op("nn.lrn", [x], x / (2 + np.float32(0.3) / 3 * window) ** np.float32(0.75), size=3, axis=1, bias=2.0, alpha=0.3,
               beta=0.75)
    for axis in (1, -1):
        powers = np.exp(x - x.max(axis, keepdims=True))
        soft = powers / powers.sum(axis, keepdims=True)
        program.op("nn.softmax", [x], soft, axis=axis)
        program.op("nn.log_softmax", [x], np.log(soft), axis=axis)
    program.op("nn.prelu", [x, gamma], np.where(x > 0, x, c(gamma) * x))
    program.run(tmp_path, 5e-6)


def pooled(x, size, stride, pad, dilation, ceil, how, include_pad=False):
    shape = []
    for i in range(2):
        room = x.shape[2 + i] + pad[i] + pad[i + 2] - ((size - 1) * dilation + 1)
        shape.append((-(-room // stride) if ceil else room // stride) + 1)
    out = np.zeros((*x.shape[:2], *shape), np.float32)
    for oy in range(shape[0]):
        for ox in range(shape[1]):
            ys = [oy * stride - pad[0] + t * dilation for t in range(size)]
            xs = [ox * stride - pad[1] + t * dilation for t in range(size)]
            inside = [(a, b) for a in ys for b in xs if 0 <= a < x.shape[2] and 0 <= b < x.shape[3]]
            padded = [(a, b) for a in ys for b in xs if a < x.shape[2] + pad[2] and b < x.shape[3] + pad[3]]
            values = np.stack([x[:, :, a, b] for a, b in inside])
            if how == "max":
                out[:, :, oy, ox] = values.max(0)
            else:
                out[:, :, oy, ox] = values.sum(0) / len(padded if include_pad else inside)
    return out


def test_pools(program, tmp_path):
    x = f32(2, 3, 9, 10)
    for size, stride, pad, dilation, ceil in [(2, 2, (0,) * 4, 1, False), (3, 2, (1, 0, 1, 1), 1, True),
                                              (3, 2, (1,) * 4, 1, False), (2, 1, (1,) * 4, 3, False)]:
        common = dict(pool_size=[size] * 2, strides=[stride] * 2, padding=list(pad), dilation=[dilation] * 2,
                      ceil_mode=ceil)
        program.op("nn.max_pool2d", [x], pooled(x, size, stride, pad, dilation, ceil, "max"), **common)
        for include in (False, True):
            program.op("nn.avg_pool2d", [x], pooled(x, size, stride, pad, dilation, ceil, "mean", include),
                       count_include_pad=include, **common)
        nhwc = x.transpose(0, 2, 3, 1)
        program.op("nn.max_pool2d", [nhwc],
                   pooled(x, size, stride, pad, dilation, ceil, "max").transpose(0, 2, 3, 1), layout="NHWC", **common)
    program.op("nn.global_avg_pool2d", [x], x.mean((2, 3), keepdims=True))
    program.op("nn.global_max_pool2d", [x], x.max((2, 3), keepdims=True))
    bins = lambda n, o: [(i * n // o, -(-(i + 1) * n // o)) for i in range(o)]
    for how in ("avg", "max"):
        reduce = np.mean if how == "avg" else np.max
        y = np.stack([np.stack([reduce(x[:, :, a:b, c:d], axis=(2, 3)) for c, d in bins(10, 3)], -1)
                      for a, b in bins(9, 4)], -2)
        program.op(f"nn.adaptive_{how}_pool2d", [x], y, output_size=[4, 3])
    line = x[:, :, 0]
    program.op("nn.max_pool1d", [line], line.reshape(2, 3, 5, 2).max(-1), pool_size=[2], strides=[2])
    program.op("nn.avg_pool1d", [line], line.reshape(2, 3, 5, 2).mean(-1), pool_size=[2], strides=[2])
    program.run(tmp_path, 2e-6)


def test_resize(program, tmp_path):
    x = f32(1, 2, 4, 5)
    up = x.repeat(2, 2).repeat(3, 3)
    for mode in ("half_pixel", "asymmetric"):
        program.op("image.resize2d", [x], up, size=[8, 15], method="nearest_neighbor",
                   coordinate_transformation_mode=mode, rounding_method="round_prefer_floor" if mode == "half_pixel" else "floor")
    program.op("nn.upsampling", [x], up, scale_h=2.0, scale_w=3.0)
    # Linear interpolation of a plane gives the plane (inside of the border).
    plane = (np.arange(6)[:, None] * 2.0 + np.arange(6)).astype(np.float32)[None, None]
    at = np.linspace(0, 5, 11, dtype=np.float32)
    program.op("image.resize2d", [plane], (at[:, None] * 2 + at)[None, None], size=[11, 11],
               coordinate_transformation_mode="align_corners")
    half = np.clip((np.arange(12) + 0.5) / 2 - 0.5, 0, 5).astype(np.float32)
    program.op("image.resize2d", [plane], (half[:, None] * 2 + half)[None, None], size=[12, 12])
    program.op("image.resize1d", [plane[:, :, 0]], half[None, None], size=[12])
    program.op("image.resize2d", [plane], plane, size=[6, 6], method="cubic")
    program.run(tmp_path, 2e-6)


def test_operator_without_lowering_is_a_resource_error(tmp_path):
    (tmp_path / "m.mlir").write_text(
        'func.func @main(%x: tensor<2xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {\n'
        '  %0 = relay.scatter_elements %x, %i, %x {reduction = "mean"} : '
        '(tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2xf32> loc("first")\n'
        '  %1 = relay.scatter_elements %0, %i, %x {reduction = "mean"} : '
        '(tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2xf32> loc("second")\n'
        "  return %1 : tensor<2xf32>\n}\n")
    done = subprocess.run([TOOL, tmp_path / "m.mlir"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "first" in done.stderr and "second" in done.stderr and "cannot run on the host" in done.stderr
