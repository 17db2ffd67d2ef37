"""U-Net (Ronneberger et al. 2015) with padded convolutions: 64 to 1024 channels, transposed convolutions upwards."""

from graph import AFTER_RELU, Graph


def double(g, x, cin, cout):
    x = g.conv_bn_relu(x, cin, cout, 3, pad=1, gain=1.0 if cin == 3 else AFTER_RELU)
    return g.conv_bn_relu(x, cout, cout, 3, pad=1)


def up(g, x, cin, cout):
    index = len(g.nodes)
    inputs = [x, g.normal(f"w{index}", (cin, cout, 2, 2), (2.0 / cin) ** 0.5), g.normal(f"b{index}", cout, 0.05)]
    return g.node("ConvTranspose", inputs, kernel_shape=[2, 2], strides=[2, 2])


def unet(name, size, batch):
    g = Graph(name, 7, batch)
    x, cin, skips = g.input("image", [3, size, size]), 3, []
    for cout in (64, 128, 256, 512):
        x = double(g, x, cin, cout)
        skips.append(x)
        x, cin = g.max_pool(x, 2, 2), cout
    x, cin = double(g, x, cin, 1024), 1024
    for skip in reversed(skips):
        x = g.node("Concat", [skip, up(g, x, cin, cin // 2)], axis=1)
        x, cin = double(g, x, cin, cin // 2), cin // 2
    g.output(g.conv(x, cin, 2, 1), "logits", [2, size, size])
    return g
