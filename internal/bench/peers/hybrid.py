"""Training of Gluon networks, eager and hybridized, and of the same networks in torch, eager.
Usage: hybrid.py [mxnet|torch] [REGEX of line names]"""
import re, sys, time
wanted = re.compile(sys.argv[2] if len(sys.argv) > 2 else "").search
peer = sys.argv[1] if len(sys.argv) > 1 else "mxnet"
WORDS, STEPS = 10000, 35


def measure(line, unit, samples, n, step, wait):
    def loop(n):
        s = time.perf_counter()
        for _ in range(n):
            step()
        wait()
        return (time.perf_counter() - s) / n

    loop(2)
    t = min(loop(n) for _ in range(3))
    print("%s\t%.2f\t%s" % (line, samples / t, unit), flush=True)


def mxnet(line, unit, samples, n, name, hybridize, shape):
    import mxnet as mx
    from mxnet import autograd, gluon
    from mxnet.gluon import nn, rnn
    if name == "lenet":
        net = nn.HybridSequential()
        net.add(nn.Conv2D(20, 5, activation="tanh"), nn.MaxPool2D(), nn.Conv2D(50, 5, activation="tanh"),
                nn.MaxPool2D(), nn.Dense(500, activation="tanh"), nn.Dense(10))
    elif name == "resnet18":
        net = gluon.model_zoo.vision.resnet18_v1(classes=10)
    else:
        net = nn.HybridSequential()
        net.add(nn.Embedding(WORDS, 200), rnn.LSTM(200, 2), nn.HybridLambda(lambda F, x: F.reshape(x, (-1, 200))),
                nn.Dense(WORDS))
    net.initialize(mx.init.Xavier())
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    if hybridize:
        net.hybridize(static_alloc=True, static_shape=True)
        loss.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    x = mx.nd.random.uniform(shape=shape)
    y = mx.nd.zeros((samples,))

    def step():
        with autograd.record():
            l = loss(net(x), y)
        l.backward()
        trainer.step(samples)

    measure(line, unit, samples, n, step, mx.nd.waitall)


def torch_(line, unit, samples, n, name, hybridize, shape):
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    class Block(nn.Module):
        def __init__(self, channels, out, stride):
            super().__init__()
            self.c1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
            self.b1 = nn.BatchNorm2d(out)
            self.c2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
            self.b2 = nn.BatchNorm2d(out)
            self.short = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False),
                                       nn.BatchNorm2d(out)) if stride > 1 else None

        def forward(self, x):
            y = self.b2(self.c2(F.relu(self.b1(self.c1(x)))))
            return F.relu(y + (self.short(x) if self.short is not None else x))

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.r, self.d = nn.Embedding(WORDS, 200), nn.LSTM(200, 200, 2), nn.Linear(200, WORDS)

        def forward(self, x):
            return self.d(self.r(self.e(x))[0].reshape(-1, 200))

    if name == "lenet":
        net = nn.Sequential(nn.Conv2d(1, 20, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.Tanh(),
                            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10))
    elif name == "resnet18":
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        channels = 64
        for out in (64, 128, 256, 512):
            layers += [Block(channels, out, 1 if out == 64 else 2), Block(out, out, 1)]
            channels = out
        net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    else:
        net = Words()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.zeros(*shape, dtype=torch.long) if name == "lstm" else torch.rand(*shape)
    y = torch.zeros(samples, dtype=torch.long)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

    measure(line, unit, samples, n, step, lambda: None)


for row in (("hybrid.lenet.eager.bs64", "images/s", 64, 10, "lenet", False, (64, 1, 28, 28)),
            ("hybrid.lenet.hybridized.bs64", "images/s", 64, 10, "lenet", True, (64, 1, 28, 28)),
            ("hybrid.resnet18.hybridized.bs64.32", "images/s", 64, 4, "resnet18", True, (64, 3, 32, 32)),
            ("hybrid.lstm.hybridized.h200.bs32", "words/s", 32 * STEPS, 4, "lstm", True, (STEPS, 32))):
    if wanted(row[0]):
        (torch_ if peer == "torch" else mxnet)(*row)
