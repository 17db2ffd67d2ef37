"""Inception-v3 (Szegedy et al. 2015) without the auxiliary classifier."""

from graph import AFTER_RELU, Graph


def conv(g, x, cin, cout, kernel, stride=1, pad=0, gain=AFTER_RELU):
    return g.conv_bn_relu(x, cin, cout, kernel, stride, pad, gain=gain, epsilon=1e-3)


def chain(g, x, cin, *layers):
    for cout, kernel, *rest in layers:
        x = conv(g, x, cin, cout, kernel, *rest)
        cin = cout
    return x


def block_a(g, x, cin, pool):
    return g.node("Concat", [
        conv(g, x, cin, 64, 1),
        chain(g, x, cin, (48, 1), (64, 5, 1, 2)),
        chain(g, x, cin, (64, 1), (96, 3, 1, 1), (96, 3, 1, 1)),
        conv(g, g.average_pool(x, 3, 1, 1), cin, pool, 1),
    ], axis=1), 224 + pool  # fmt: skip


def block_b(g, x, cin):
    return g.node("Concat", [
        conv(g, x, cin, 384, 3, 2),
        chain(g, x, cin, (64, 1), (96, 3, 1, 1), (96, 3, 2)),
        g.max_pool(x, 3, 2),
    ], axis=1), 480 + cin  # fmt: skip


def block_c(g, x, cin, width):
    row, column = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
    return g.node("Concat", [
        conv(g, x, cin, 192, 1),
        chain(g, x, cin, (width, 1), (width, *row), (192, *column)),
        chain(g, x, cin, (width, 1), (width, *column), (width, *row), (width, *column), (192, *row)),
        conv(g, g.average_pool(x, 3, 1, 1), cin, 192, 1),
    ], axis=1), 768  # fmt: skip


def block_d(g, x, cin):
    return g.node("Concat", [
        chain(g, x, cin, (192, 1), (320, 3, 2)),
        chain(g, x, cin, (192, 1), (192, (1, 7), 1, (0, 3)), (192, (7, 1), 1, (3, 0)), (192, 3, 2)),
        g.max_pool(x, 3, 2),
    ], axis=1), 512 + cin  # fmt: skip


def block_e(g, x, cin):
    def split(y, width):
        return [conv(g, y, width, 384, (1, 3), 1, (0, 1)), conv(g, y, width, 384, (3, 1), 1, (1, 0))]

    return g.node("Concat", [
        conv(g, x, cin, 320, 1),
        g.node("Concat", split(conv(g, x, cin, 384, 1), 384), axis=1),
        g.node("Concat", split(chain(g, x, cin, (448, 1), (384, 3, 1, 1)), 384), axis=1),
        conv(g, g.average_pool(x, 3, 1, 1), cin, 192, 1),
    ], axis=1), 2048  # fmt: skip


def inception_v3(name, size, batch):
    g = Graph(name, 5, batch)
    x = conv(g, g.input("image", [3, size, size]), 3, 32, 3, 2, gain=1.0)
    x = g.max_pool(chain(g, x, 32, (32, 3), (64, 3, 1, 1)), 3, 2)
    x = g.max_pool(chain(g, x, 64, (80, 1), (192, 3)), 3, 2)
    cin = 192
    for pool in (32, 64, 64):
        x, cin = block_a(g, x, cin, pool)
    x, cin = block_b(g, x, cin)
    for width in (128, 160, 160, 192):
        x, cin = block_c(g, x, cin, width)
    x, cin = block_d(g, x, cin)
    for _ in range(2):
        x, cin = block_e(g, x, cin)
    g.classifier(x, cin)
    return g
