"""DenseNet-121 (Huang et al. 2016)."""

from graph import Graph


def norm_relu(g, x, channels):
    return g.relu(g.batch_norm(x, channels))


def densenet121(name, size, batch):
    growth, channels = 32, 64
    g = Graph(name, 121, batch)
    x = g.conv_bn_relu(g.input("image", [3, size, size]), 3, channels, 7, 2, 3, gain=1.0)
    x = g.max_pool(x, 3, 2, 1)
    for stage, count in enumerate((6, 12, 24, 16)):
        if stage:
            x = g.average_pool(g.conv(norm_relu(g, x, channels), channels, channels // 2, 1, bias=False), 2, 2)
            channels //= 2
        for _ in range(count):
            y = g.conv(norm_relu(g, x, channels), channels, 4 * growth, 1, bias=False)
            y = g.conv(norm_relu(g, y, 4 * growth), 4 * growth, growth, 3, pad=1, bias=False)
            x = g.node("Concat", [x, y], axis=1)
            channels += growth
    g.classifier(norm_relu(g, x, channels), channels)
    return g
