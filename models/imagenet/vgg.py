"""VGG-16 (Simonyan and Zisserman 2014)."""

from graph import AFTER_RELU, Graph


def vgg16(name, size, batch):
    g = Graph(name, 16, batch)
    x, cin = g.input("image", [3, size, size]), 3
    for count, cout in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        for _ in range(count):
            x = g.relu(g.conv(x, cin, cout, 3, pad=1, gain=1.0 if cin == 3 else AFTER_RELU))
            cin = cout
        x = g.max_pool(x, 2, 2)
    x = g.node("Flatten", [x], axis=1)
    features = 512 * (size // 32) ** 2
    for units in (4096, 4096):
        x = g.relu(g.dense(x, features, units, 2.0))
        features = units
    g.output(g.dense(x, features, 1000), "logits", [1000])
    return g
