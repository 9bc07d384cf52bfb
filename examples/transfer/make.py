"""Trains a network on the digits 0 to 4 with MXNet 1.9.1 and saves a checkpoint: make.py FOLDER

FOLDER is the folder of this program; the images are in ../data."""
import gzip
import struct
import sys

import mxnet as mx
import numpy as np

folder = sys.argv[1]


def idx(name):
    """Returns the array of an idx file."""
    with gzip.open(f"{folder}/../data/digits-train-{name}.gz") as f:
        raw = f.read()
    axes = raw[3]
    shape = struct.unpack(">" + "I" * axes, raw[4:4 + 4 * axes])
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(shape)


np.random.seed(1)
mx.random.seed(1)
images, labels = idx("images"), idx("labels")
few = labels < 5
images = images[few][:, None].astype("float32") / 255
it = mx.io.NDArrayIter(images, labels[few].astype("float32"), 32, shuffle=True)

x = mx.sym.Variable("data")
for i, filters in enumerate([16, 32]):
    x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{i}")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name=f"norm{i}")
    x = mx.sym.Activation(x, act_type="relu", name=f"relu{i}")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{i}")
x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=48, name="fc1")
x = mx.sym.Activation(x, act_type="relu", name="relu2")
x = mx.sym.FullyConnected(x, num_hidden=5, name="fc2")
mod = mx.mod.Module(mx.sym.SoftmaxOutput(x, name="softmax"))
mod.fit(it, num_epoch=20, optimizer="adam", optimizer_params={"learning_rate": 2e-3},
        initializer=mx.init.Xavier())
print(mod.score(it, "acc"))
mod.save_checkpoint(f"{folder}/testdata/digits", 20)
