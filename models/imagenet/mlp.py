"""A multi-layer perceptron; `size` is the number of features."""

from graph import Graph


def mlp(name, size, batch):
    g = Graph(name, 8, batch)
    x = g.relu(g.dense(g.input("features", [size]), size, 2048, 1.0))
    x = g.node("Sigmoid", [g.dense(x, 2048, 1024)])
    x = g.node("Tanh", [g.dense(x, 1024, 1024, 16.0)])
    g.output(g.node("Softmax", [g.dense(x, 1024, 10, 2.0)], axis=1), "probabilities", [10])
    return g
