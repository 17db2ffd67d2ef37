#!/usr/bin/env python3
"""Trains the demo's network: a small CNN on scikit-learn's 8x8 handwritten digits, with numpy alone.

    python3 train.py [FOLDER]        needs numpy, scikit-learn and onnx; about a minute

Writes digits_cnn.onnx (weights float32, batch size open) and digits_test.npz (images, labels that training never saw).
Fixed seeds: the same versions of the packages give the same files.
"""

import pathlib
import sys

import numpy as np

CLASSES = 10


def load():
    """1,400 images for training and 397 for the test, as float32 in 0..1, NCHW."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, None]
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order], digits.target[order]
    return images[:1400], labels[:1400], images[1400:], labels[1400:]


def columns(x):
    """3x3 patches with padding 1: (n, c, h, w) -> (n, h, w, c * 9)."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    patches = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    n, c, h, w = x.shape
    return patches.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


def conv_gradient_input(gradient, weights):
    """Gradient of a 3x3 convolution's input: a convolution with the kernels turned round."""
    turned = weights[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    return (columns(gradient) @ turned.reshape(turned.shape[0], -1).T).transpose(0, 3, 1, 2)


class Net:
    """conv 16 - conv 32 - max pool - conv 32 - max pool - dense 10, with relu after each convolution."""

    def __init__(self, rng):
        self.parameters = []
        for cout, cin in ((16, 1), (32, 16), (32, 32)):
            scale = np.sqrt(2 / (cin * 9))
            self.parameters += [rng.normal(0, scale, (cout, cin, 3, 3)), np.zeros(cout)]
        self.parameters += [rng.normal(0, np.sqrt(1 / 128), (CLASSES, 128)), np.zeros(CLASSES)]
        self.parameters = [p.astype(np.float32) for p in self.parameters]

    def forward(self, x):
        self.saved = []
        for i in range(3):
            weights, bias = self.parameters[2 * i], self.parameters[2 * i + 1]
            cols = columns(x)
            y = (cols @ weights.reshape(len(weights), -1).T + bias).transpose(0, 3, 1, 2)
            y = np.maximum(y, 0)
            mask = None
            pooled = y
            if i > 0:
                n, c, h, w = y.shape
                blocks = y.reshape(n, c, h // 2, 2, w // 2, 2)
                pooled = blocks.max(axis=(3, 5))
                mask = blocks == pooled[:, :, :, None, :, None]
            self.saved.append((cols, y, mask))
            x = pooled
        self.flat = x.reshape(len(x), -1)
        return self.flat @ self.parameters[6].T + self.parameters[7]

    def backward(self, gradient):
        out = [None] * 8
        out[6] = gradient.T @ self.flat
        out[7] = gradient.sum(axis=0)
        g = (gradient @ self.parameters[6]).reshape(-1, 32, 2, 2)
        for i in (2, 1, 0):
            cols, y, mask = self.saved[i]
            if mask is not None:
                g = (mask * g[:, :, :, None, :, None]).reshape(y.shape)
            g = g * (y > 0)
            weights = self.parameters[2 * i]
            rows = g.transpose(0, 2, 3, 1).reshape(-1, len(weights))
            out[2 * i] = (rows.T @ cols.reshape(len(rows), -1)).reshape(weights.shape)
            out[2 * i + 1] = rows.sum(axis=0)
            if i:
                g = conv_gradient_input(g, weights)
        return out


def train(images, labels, epochs=60, batch=100):
    rng = np.random.default_rng(1)
    net = Net(rng)
    moments = [[np.zeros_like(p), np.zeros_like(p)] for p in net.parameters]
    step = 0
    for epoch in range(epochs):
        rate = 2e-3 * (1 - epoch / epochs) + 1e-5
        order = rng.permutation(len(images))
        for start in range(0, len(order), batch):
            part = order[start : start + batch]
            # Shifts by up to a pixel make more of few images.
            x = np.roll(images[part], rng.integers(-1, 2, 2), axis=(2, 3)) if rng.random() < 0.5 else images[part]
            logits = net.forward(x)
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            p[np.arange(len(part)), labels[part]] -= 1
            step += 1
            for parameter, gradient, m in zip(net.parameters, net.backward(p / len(part)), moments):
                m[0] = 0.9 * m[0] + 0.1 * gradient
                m[1] = 0.999 * m[1] + 0.001 * gradient**2
                update = rate * (m[0] / (1 - 0.9**step)) / (np.sqrt(m[1] / (1 - 0.999**step)) + 1e-8)
                parameter -= (update + rate * 1e-2 * parameter).astype(np.float32)
    return net


def save_onnx(net, path):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    names = ["conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "conv3.weight", "conv3.bias", "fc.weight", "fc.bias"]
    weights = [numpy_helper.from_array(p.astype(np.float32), n) for n, p in zip(names, net.parameters)]
    nodes, at = [], "image"
    for i in (1, 2, 3):
        conv = [at, f"conv{i}.weight", f"conv{i}.bias"]
        nodes.append(helper.make_node("Conv", conv, [f"conv{i}"], name=f"conv{i}", kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"conv{i}"], [f"relu{i}"], name=f"relu{i}"))
        at = f"relu{i}"
        if i > 1:
            nodes.append(helper.make_node("MaxPool", [at], [f"pool{i}"], name=f"pool{i}", kernel_shape=[2, 2], strides=[2, 2]))
            at = f"pool{i}"
    nodes.append(helper.make_node("Flatten", [at], ["flat"], name="flatten", axis=1))
    nodes.append(helper.make_node("Gemm", ["flat", "fc.weight", "fc.bias"], ["logits"], name="fc", transB=1))
    graph = helper.make_graph(
        nodes,
        "digits_cnn",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="models/digits/train.py")
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    images, labels, test_images, test_labels = load()
    net = train(images, labels)
    accuracy = (net.forward(test_images).argmax(axis=1) == test_labels).mean()
    print(f"test accuracy {accuracy:.4f} on {len(test_labels)} images")
    save_onnx(net, folder / "digits_cnn.onnx")
    np.savez_compressed(folder / "digits_test.npz", images=test_images, labels=test_labels.astype(np.int64))


if __name__ == "__main__":
    main()
