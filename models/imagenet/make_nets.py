#!/usr/bin/env python3
"""Writes SqueezeNet 1.1, MobileNetV2 and ResNet-18 for 224 x 224 images as ONNX files with generated weights.

    python3 make_nets.py FOLDER [NAME ...]        needs numpy and onnx

The graphs are those of the papers. Weights are normal with He's deviation, batch norms are close to identity, so that
activations keep their size from layer to layer as in a trained network. Fixed seeds: always the same files.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """Collects nodes and weights; functions return the name of their result."""

    def __init__(self, name, seed):
        self.name, self.nodes, self.weights = name, [], []
        self.rng = np.random.default_rng(seed)

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def node(self, op, inputs, **attributes):
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x, cin, cout, kernel, stride=1, pad=0, group=1, gain=2.0, bias=True):
        fan_in = cin // group * kernel * kernel
        shape = (cout, cin // group, kernel, kernel)
        index = len(self.nodes)
        inputs = [x, self.weight(f"w{index}", self.rng.normal(0, np.sqrt(gain / fan_in), shape))]
        if bias:
            inputs.append(self.weight(f"b{index}", self.rng.normal(0, 0.05, cout)))
        return self.node("Conv", inputs, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=group)

    def batch_norm(self, x, channels, scale=1.0):
        index = len(self.nodes)
        parts = {
            "scale": scale * self.rng.uniform(0.9, 1.1, channels),
            "shift": self.rng.normal(0, 0.05, channels),
            "mean": self.rng.normal(0, 0.05, channels),
            "variance": self.rng.uniform(0.9, 1.1, channels),
        }
        names = [self.weight(f"{k}{index}", v) for k, v in parts.items()]
        return self.node("BatchNormalization", [x, *names], epsilon=1e-5)

    def relu6(self, x):
        if not any(w.name == "six" for w in self.weights):
            self.weight("zero", np.float32(0))
            self.weight("six", np.float32(6))
        return self.node("Clip", [x, "zero", "six"])

    def save(self, x, path):
        self.nodes[-1].output[0] = "logits"
        graph = helper.make_graph(
            self.nodes,
            self.name,
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 224, 224])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1000])],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="make_nets.py")
        model.ir_version = 8
        onnx.save(model, path)


def squeezenet(path):
    g = Graph("squeezenet1_1", 1)

    def fire(x, cin, squeeze, expand):
        s = g.node("Relu", [g.conv(x, cin, squeeze, 1)])
        a = g.node("Relu", [g.conv(s, squeeze, expand, 1)])
        b = g.node("Relu", [g.conv(s, squeeze, expand, 3, pad=1)])
        return g.node("Concat", [a, b], axis=1)

    x = g.node("Relu", [g.conv("image", 3, 64, 3, stride=2, gain=1.0)])
    cin = 64
    for squeeze, expand, pool in ((16, 64, 1), (16, 64, 0), (32, 128, 1), (32, 128, 0), (48, 192, 1), (48, 192, 0), (64, 256, 0), (64, 256, 0)):
        if pool:
            x = g.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
        x = fire(x, cin, squeeze, expand)
        cin = 2 * expand
    x = g.node("Relu", [g.conv(x, cin, 1000, 1)])
    x = g.node("GlobalAveragePool", [x])
    g.save(g.node("Flatten", [x], axis=1), path)


def mobilenet_v2(path):
    g = Graph("mobilenet_v2", 2)

    def block(x, cin, cout, stride, expand):
        y, hidden = x, cin * expand
        if expand > 1:
            y = g.relu6(g.batch_norm(g.conv(y, cin, hidden, 1, gain=1.0, bias=False), hidden))
        y = g.relu6(g.batch_norm(g.conv(y, hidden, hidden, 3, stride, 1, hidden, bias=False), hidden))
        y = g.batch_norm(g.conv(y, hidden, cout, 1, bias=False), cout, 0.5 if stride == 1 and cin == cout else 1.0)
        return g.node("Add", [x, y]) if stride == 1 and cin == cout else y

    x = g.relu6(g.batch_norm(g.conv("image", 3, 32, 3, 2, 1, gain=1.0, bias=False), 32))
    cin = 32
    for expand, cout, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            x = block(x, cin, cout, stride if i == 0 else 1, expand)
            cin = cout
    x = g.relu6(g.batch_norm(g.conv(x, cin, 1280, 1, gain=1.0, bias=False), 1280))
    x = g.node("Flatten", [g.node("GlobalAveragePool", [x])], axis=1)
    classifier(g, x, 1280)
    g.save(x, path)


def resnet18(path):
    g = Graph("resnet18", 3)

    def block(x, cin, cout, stride):
        y = g.node("Relu", [g.batch_norm(g.conv(x, cin, cout, 3, stride, 1, bias=False), cout)])
        y = g.batch_norm(g.conv(y, cout, cout, 3, 1, 1, bias=False), cout, 0.5)
        if stride != 1 or cin != cout:
            x = g.batch_norm(g.conv(x, cin, cout, 1, stride, bias=False), cout)
        return g.node("Relu", [g.node("Add", [y, x])])

    x = g.node("Relu", [g.batch_norm(g.conv("image", 3, 64, 7, 2, 3, gain=1.0, bias=False), 64)])
    x = g.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    cin = 64
    for cout, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for i in range(2):
            x = block(x, cin, cout, stride if i == 0 else 1)
            cin = cout
    x = g.node("Flatten", [g.node("GlobalAveragePool", [x])], axis=1)
    classifier(g, x, 512)
    g.save(x, path)


def classifier(g, x, features):
    weights = g.weight("fc.weight", g.rng.normal(0, np.sqrt(1 / features), (1000, features)))
    g.node("Gemm", [x, weights, g.weight("fc.bias", g.rng.normal(0, 0.05, 1000))], transB=1)


NETS = {"squeezenet1_1": squeezenet, "mobilenet_v2": mobilenet_v2, "resnet18": resnet18}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NETS:
        NETS[name](folder / f"{name}.onnx")
        print(folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
