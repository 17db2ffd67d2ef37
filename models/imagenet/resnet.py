"""ResNet (He et al. 2015), original and v1.5 (the stride in the 3 x 3 convolution of a bottleneck)."""

from graph import Graph

STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}


def shortcut(g, x, cin, cout, stride):
    if stride == 1 and cin == cout:
        return x
    return g.batch_norm(g.conv(x, cin, cout, 1, stride, bias=False), cout)


def basic(g, x, cin, width, stride, first_stride):
    y = g.conv_bn_relu(x, cin, width, 3, stride, 1)
    y = g.batch_norm(g.conv(y, width, width, 3, 1, 1, bias=False), width, 0.5)
    return g.relu(g.node("Add", [y, shortcut(g, x, cin, width, stride)])), width


def bottleneck(g, x, cin, width, stride, first_stride):
    y = g.conv_bn_relu(x, cin, width, 1, stride if first_stride else 1)
    y = g.conv_bn_relu(y, width, width, 3, 1 if first_stride else stride, 1)
    y = g.batch_norm(g.conv(y, width, 4 * width, 1, bias=False), 4 * width, 0.4)
    return g.relu(g.node("Add", [y, shortcut(g, x, cin, 4 * width, stride)])), 4 * width


def resnet(depth, first_stride=False):
    def build(name, size, batch):
        g = Graph(name, depth, batch)
        block = basic if depth < 50 else bottleneck
        x = g.conv_bn_relu(g.input("image", [3, size, size]), 3, 64, 7, 2, 3, gain=1.0)
        x, cin = g.max_pool(x, 3, 2, 1), 64
        for stage, count in enumerate(STAGES[depth]):
            for i in range(count):
                stride = 2 if stage and i == 0 else 1
                x, cin = block(g, x, cin, 64 << stage, stride, first_stride)
        g.classifier(x, cin)
        return g

    return build
