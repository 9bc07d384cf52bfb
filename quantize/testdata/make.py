"""Quantizes a small network with MXNet 1.9.1 and saves it, data and outputs: make.py FOLDER

Set MXNET_SUBGRAPH_BACKEND=NONE, so that the operators stay apart."""
import sys
import mxnet as mx
import numpy as np
from mxnet.contrib.quantization import quantize_model

folder = sys.argv[1]
np.random.seed(3)
mx.random.seed(3)
x = mx.sym.Variable("data")
y = mx.sym.Convolution(x, kernel=(3, 3), num_filter=4, pad=(1, 1), name="c0")
y = mx.sym.Activation(y, act_type="relu", name="r0")
y = mx.sym.Convolution(y, kernel=(3, 3), num_filter=8, pad=(1, 1), no_bias=True, name="c1")
y = mx.sym.Activation(y, act_type="relu", name="r1")
y = mx.sym.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max", name="p1")
y = mx.sym.Flatten(y, name="flat")
y = mx.sym.FullyConnected(y, num_hidden=5, name="f1")
shapes, _, _ = y.infer_shape(data=(4, 3, 6, 6))
args = {n: mx.nd.array(np.random.randn(*s) * 0.3)
        for n, s in zip(y.list_arguments(), shapes) if n != "data"}
data = np.random.rand(4, 3, 6, 6).astype("float32")
it = mx.io.NDArrayIter(data, batch_size=4)
q, qargs, qaux = quantize_model(y, args, {}, data_names=("data",), label_names=None, ctx=mx.cpu(),
                                excluded_sym_names=["c0"], calib_mode="naive", calib_data=it,
                                num_calib_examples=4, quantized_dtype="auto")
mx.model.save_checkpoint(folder + "/mxnet", 0, q, qargs, qaux)
qargs["data"] = mx.nd.array(data)
out = q.bind(mx.cpu(), qargs, aux_states=qaux).forward(is_train=False)[0]
mx.nd.save(folder + "/mxnet-case.params", {"data": qargs["data"], "output": out})
