"""A small builder of ONNX graphs with generated weights.

The weights keep the statistics of a trained network: activations neither grow nor vanish from layer to layer, the
result tells one input from another, and small errors stay small.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: Part of a filter's mean over its input channels that is taken off. Without that, whatever the input, a deep random
#: network tends to the same result; with all of it rounding errors grow from layer to layer as they do not in a trained one.
CENTRED = 0.3
#: Variance gain that makes up for a rectifier in front of such a filter.
AFTER_RELU = 1 / (1 / 2 - (1 - (1 - CENTRED) ** 2) / (2 * np.pi))


class Graph:
    """Collects nodes and weights; the functions return the name of their result."""

    def __init__(self, name, seed, batch=None):
        self.name, self.nodes, self.weights = name, [], []
        self.inputs, self.outputs = [], []
        self.batch = batch or "batch"
        self.rng = np.random.default_rng(seed)

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, [self.batch, *shape]))
        return name

    def output(self, x, name, shape):
        """Renames the result of the last node."""
        assert self.nodes[-1].output[0] == x
        self.nodes[-1].output[0] = name
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [self.batch, *shape]))

    def constant(self, name, array):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def normal(self, name, shape, deviation, mean=0.0):
        return self.constant(name, self.draw(shape, deviation, mean))

    def draw(self, shape, deviation, mean=0.0):
        return self.rng.standard_normal(shape, np.float32) * np.float32(deviation) + np.float32(mean)

    def node(self, op, inputs, count=1, **attributes):
        name = f"{op.lower()}_{len(self.nodes)}"
        results = [name] if count == 1 else [f"{name}.{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, inputs, results, name=name, **attributes))
        return name if count == 1 else results

    # Layers. `gain` is the variance of the result for inputs of mean square 1/2 (behind a rectifier, 2) or 1.

    def conv(self, x, cin, cout, kernel, stride=1, pad=0, group=1, gain=AFTER_RELU, bias=True, bias_mean=0.0):
        """A convolution; `kernel` and `pad` are one number or (height, width)."""
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        pad = (pad, pad) if isinstance(pad, int) else pad
        index = len(self.nodes)
        w = self.draw((cout, cin // group, *kernel), 1.0)
        if group == cin:  # mostly blur: each channel keeps its own sum
            w += np.float32(0.5)
        elif cin // group >= 16:
            w -= np.float32(CENTRED) * w.mean(axis=1, keepdims=True)
        w *= np.float32(np.sqrt(gain / (cin // group * kernel[0] * kernel[1])))
        inputs = [x, self.constant(f"w{index}", w)]
        if bias:
            inputs.append(self.normal(f"b{index}", cout, 0.05, bias_mean))
        return self.node(
            "Conv", inputs, kernel_shape=list(kernel), strides=[stride] * 2, pads=[*pad, *pad], group=group
        )

    def batch_norm(self, x, channels, scale=1.0, epsilon=1e-5):
        index = len(self.nodes)
        parts = {
            "scale": scale * self.rng.uniform(0.8, 1.2, channels),
            "shift": self.rng.normal(0, 0.1, channels),
            "mean": self.rng.normal(0, 0.1, channels),
            "variance": self.rng.uniform(0.8, 1.2, channels),
        }
        names = [self.constant(f"{k}{index}", v.astype(np.float32)) for k, v in parts.items()]
        return self.node("BatchNormalization", [x, *names], epsilon=epsilon)

    def relu(self, x):
        return self.node("Relu", [x])

    def relu6(self, x):
        if not any(w.name == "six" for w in self.weights):
            self.constant("zero", np.float32(0))
            self.constant("six", np.float32(6))
        return self.node("Clip", [x, "zero", "six"])

    def conv_bn_relu(self, x, cin, cout, kernel, stride=1, pad=0, group=1, gain=AFTER_RELU, epsilon=1e-5):
        return self.relu(self.batch_norm(self.conv(x, cin, cout, kernel, stride, pad, group, gain, False), cout, 1.0, epsilon))

    def max_pool(self, x, kernel, stride, pad=0, ceil=0):
        return self.node("MaxPool", [x], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, ceil_mode=ceil)

    def average_pool(self, x, kernel, stride, pad=0):
        return self.node(
            "AveragePool", [x], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, count_include_pad=1
        )

    def dense(self, x, features, units, gain=AFTER_RELU):
        index = len(self.nodes)
        w = self.draw((units, features), 1.0)
        w -= np.float32(CENTRED) * w.mean(axis=1, keepdims=True)
        w *= np.float32(np.sqrt(gain / features))
        return self.node("Gemm", [x, self.constant(f"w{index}", w), self.normal(f"b{index}", units, 0.05)], transB=1)

    def classifier(self, x, channels, classes=1000):
        """Global average pooling and a dense layer; the features of a random network vary little after pooling."""
        x = self.node("Flatten", [self.node("GlobalAveragePool", [x])], axis=1)
        self.output(self.dense(x, channels, classes, gain=20.0), "logits", [classes])

    def save(self, path):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="make_nets.py")
        model.ir_version = 8
        onnx.save(model, path)
