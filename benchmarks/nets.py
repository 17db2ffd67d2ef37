"""The networks of the benchmarks: made with generated weights, compiled with the tool of the build folder."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = ROOT / "build" / "bin"


def gemm_chain(path, rows=1024, width=1024, depth=8):
    """rows x width times `depth` square matrices, a ReLU after each."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(7)
    nodes, weights, value = [], [], "x"
    for i in range(depth):
        weight = (rng.standard_normal((width, width)) / np.sqrt(width)).astype(np.float32)
        weights.append(numpy_helper.from_array(weight, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"m{i}"], name=f"product{i}"))
        value = "y" if i == depth - 1 else f"r{i}"
        nodes.append(helper.make_node("Relu", [f"m{i}"], [value], name=f"relu{i}"))
    shape = [rows, width]
    graph = helper.make_graph(
        nodes, "gemm_chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        weights,
    )  # fmt: skip
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)]), path)


def compiled(folder, net, batch, level=0):
    """The object of 'gemm_chain' or of a network of models/imagenet at this batch; made once per folder."""
    folder = pathlib.Path(folder)
    out = folder / f"{net}_b{batch}_l{level}.stcobj"
    model = folder / f"{net}.onnx"
    if out.exists():
        return out
    if not model.exists() and net == "gemm_chain":
        gemm_chain(model)
    elif not model.exists():
        script = ROOT / "models" / "imagenet" / "make_nets.py"
        subprocess.run([sys.executable, script, folder, net], check=True, stdout=subprocess.DEVNULL)
    shape = [] if net == "gemm_chain" else ["--shape", f"image={batch},3,224,224"]
    command = [BIN / "tensorturbo", "compile", model, "-o", out, "--level", str(level), *shape]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    return out
