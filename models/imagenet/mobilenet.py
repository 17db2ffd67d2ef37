"""MobileNetV1 (Howard et al. 2017) and MobileNetV2 (Sandler et al. 2018), width 1.0."""

from graph import AFTER_RELU, Graph


def layer(g, x, cin, cout, kernel, stride, group=1, gain=2.0):
    pad = kernel // 2
    return g.relu6(g.batch_norm(g.conv(x, cin, cout, kernel, stride, pad, group, gain, bias=False), cout))


def mobilenet_v1(name, size, batch):
    g = Graph(name, 1, batch)
    x, cin = layer(g, g.input("image", [3, size, size]), 3, 32, 3, 2, gain=1.0), 32
    widths = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *(((512, 1),) * 5), (1024, 2), (1024, 1))
    for cout, stride in widths:
        x = layer(g, x, cin, cin, 3, stride, cin)
        x = layer(g, x, cin, cout, 1, 1, gain=AFTER_RELU)
        cin = cout
    g.classifier(x, cin)
    return g


def inverted_residual(g, x, cin, cout, stride, expand):
    y, hidden, residual = x, cin * expand, stride == 1 and cin == cout
    if expand > 1:
        y = layer(g, y, cin, hidden, 1, 1, gain=1.0)
    y = layer(g, y, hidden, hidden, 3, stride, hidden)
    y = g.batch_norm(g.conv(y, hidden, cout, 1, bias=False), cout, 0.5 if residual else 1.0)
    return g.node("Add", [x, y]) if residual else y


def mobilenet_v2(name, size, batch):
    g = Graph(name, 2, batch)
    x, cin = layer(g, g.input("image", [3, size, size]), 3, 32, 3, 2, gain=1.0), 32
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expand, cout, count, stride in stages:
        for i in range(count):
            x = inverted_residual(g, x, cin, cout, stride if i == 0 else 1, expand)
            cin = cout
    g.classifier(layer(g, x, cin, 1280, 1, 1, gain=1.0), 1280)
    return g
