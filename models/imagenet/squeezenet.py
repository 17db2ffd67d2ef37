"""SqueezeNet 1.1 (Iandola et al. 2016)."""

from graph import Graph


def fire(g, x, cin, squeeze, expand):
    s = g.relu(g.conv(x, cin, squeeze, 1))
    a = g.relu(g.conv(s, squeeze, expand, 1))
    b = g.relu(g.conv(s, squeeze, expand, 3, pad=1))
    return g.node("Concat", [a, b], axis=1)


def squeezenet1_1(name, size, batch):
    g = Graph(name, 4, batch)
    x, cin = g.relu(g.conv(g.input("image", [3, size, size]), 3, 64, 3, stride=2, gain=1.0)), 64
    pooled = ((16, 64, 1), (16, 64, 0), (32, 128, 1), (32, 128, 0), (48, 192, 1), (48, 192, 0), (64, 256, 0), (64, 256, 0))
    for squeeze, expand, pool in pooled:
        if pool:
            x = g.max_pool(x, 3, 2, ceil=1)
        x = fire(g, x, cin, squeeze, expand)
        cin = 2 * expand
    x = g.node("GlobalAveragePool", [g.relu(g.conv(x, cin, 1000, 1, gain=20.0, bias_mean=-3.0))])
    g.output(g.node("Flatten", [x], axis=1), "logits", [1000])
    return g
