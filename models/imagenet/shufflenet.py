"""ShuffleNet-v2 x1.0 (Ma et al. 2018)."""

import numpy as np
from graph import AFTER_RELU, Graph


def depthwise(g, x, channels, stride):
    return g.batch_norm(g.conv(x, channels, channels, 3, stride, 1, channels, gain=1.0, bias=False), channels)


def pointwise(g, x, cin, cout, gain=1.0):
    return g.conv_bn_relu(x, cin, cout, 1, gain=gain)


def shuffle(g, x, channels, height):
    """Interleaves the two halves of the channels."""
    index = len(g.nodes)
    apart = g.constant(f"apart{index}", np.array([0, 2, channels // 2, height, height], np.int64))
    together = g.constant(f"together{index}", np.array([0, channels, height, height], np.int64))
    x = g.node("Transpose", [g.node("Reshape", [x, apart])], perm=[0, 2, 1, 3, 4])
    return g.node("Reshape", [x, together])


def shufflenet_v2(name, size, batch):
    g = Graph(name, 6, batch)
    x = g.conv_bn_relu(g.input("image", [3, size, size]), 3, 24, 3, 2, 1, gain=1.0)
    x, cin, height = g.max_pool(x, 3, 2, 1), 24, size // 4
    for cout, count in ((116, 4), (232, 8), (464, 4)):
        half = cout // 2
        height //= 2
        left = pointwise(g, depthwise(g, x, cin, 2), cin, half)
        right = pointwise(g, depthwise(g, pointwise(g, x, cin, half, AFTER_RELU), half, 2), half, half)
        x = shuffle(g, g.node("Concat", [left, right], axis=1), cout, height)
        for _ in range(count - 1):
            left, right = g.node("Split", [x], 2, axis=1)
            right = pointwise(g, depthwise(g, pointwise(g, right, half, half, AFTER_RELU), half, 1), half, half)
            x = shuffle(g, g.node("Concat", [left, right], axis=1), cout, height)
        cin = cout
    g.classifier(pointwise(g, x, cin, 1024, AFTER_RELU), 1024)
    return g
