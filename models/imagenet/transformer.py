"""Two encoder blocks of BERT's base size behind token and position embeddings; `size` is the sequence length."""

import numpy as np
from graph import Graph
from onnx import TensorProto

WIDTH, HEADS, HIDDEN, VOCABULARY = 768, 12, 3072, 4096


def scalar(g, name, value):
    if not any(w.name == name for w in g.weights):
        g.constant(name, np.float32(value))
    return name


def linear(g, x, features, units, gain=1.0):
    index = len(g.nodes)
    y = g.node("MatMul", [x, g.normal(f"w{index}", (features, units), (gain / features) ** 0.5)])
    return g.node("Add", [y, g.normal(f"b{index}", units, 0.05)])


def layer_norm(g, x):
    """As exported before the operator existed."""
    index = len(g.nodes)
    centred = g.node("Sub", [x, g.node("ReduceMean", [x], axes=[-1])])
    square = g.node("Pow", [centred, scalar(g, "two", 2)])
    variance = g.node("Add", [g.node("ReduceMean", [square], axes=[-1]), scalar(g, "epsilon", 1e-5)])
    x = g.node("Div", [centred, g.node("Sqrt", [variance])])
    scale = g.constant(f"scale{index}", g.rng.uniform(0.8, 1.2, WIDTH).astype(np.float32))
    return g.node("Add", [g.node("Mul", [x, scale]), g.normal(f"shift{index}", WIDTH, 0.1)])


def gelu(g, x):
    erf = g.node("Erf", [g.node("Div", [x, scalar(g, "root_two", 2**0.5)])])
    x = g.node("Mul", [x, g.node("Add", [erf, scalar(g, "one", 1)])])
    return g.node("Mul", [x, scalar(g, "half", 0.5)])


def attention(g, x, length):
    depth = WIDTH // HEADS
    if not any(w.name == "heads" for w in g.weights):
        g.constant("heads", np.array([0, length, HEADS, depth], np.int64))
        g.constant("joined", np.array([0, length, WIDTH], np.int64))

    def heads(permutation):
        y = g.node("Reshape", [linear(g, x, WIDTH, WIDTH, 2.0), "heads"])
        return g.node("Transpose", [y], perm=permutation)

    q, k, v = heads([0, 2, 1, 3]), heads([0, 2, 3, 1]), heads([0, 2, 1, 3])
    scores = g.node("Div", [g.node("MatMul", [q, k]), scalar(g, "root_depth", depth**0.5)])
    y = g.node("MatMul", [g.node("Softmax", [scores], axis=-1), v])
    y = g.node("Reshape", [g.node("Transpose", [y], perm=[0, 2, 1, 3]), "joined"])
    return linear(g, y, WIDTH, WIDTH)


def transformer(name, size, batch):
    g = Graph(name, 9, batch)
    tokens = g.input("tokens", [size], TensorProto.INT64)
    words = g.node("Gather", [g.normal("words", (VOCABULARY, WIDTH), 1.0), tokens], axis=0)
    x = layer_norm(g, g.node("Add", [words, g.normal("positions", (1, size, WIDTH), 0.5)]))
    for _ in range(2):
        x = layer_norm(g, g.node("Add", [x, attention(g, x, size)]))
        y = linear(g, gelu(g, linear(g, x, WIDTH, HIDDEN)), HIDDEN, WIDTH, 2.0)
        x = layer_norm(g, g.node("Add", [x, y]))
    g.output(x, "hidden", [size, WIDTH])
    return g
