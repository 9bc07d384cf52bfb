"""Single operators into existing arrays. Usage: ops.py [mxnet|torch] [REGEX of line names]

The sizes are from ResNet-50 (batches of 8), BERT-base (8 sequences of 128), an LSTM of 650 cells,
and 4096x4096 elements. torch computes into new arrays where its functions take no out.
"""
import re, sys, time
import numpy as np
peer = sys.argv[1] if len(sys.argv) > 1 else "mxnet"
wanted = re.compile(sys.argv[2] if len(sys.argv) > 2 else "").search
rng = np.random.RandomState(1)
S = 4096
if peer == "mxnet":
    import mxnet as mx
    wait, array = mx.nd.waitall, lambda x: mx.nd.array(x, dtype=x.dtype)
else:
    import torch
    import torch.nn.functional as F
    torch.set_grad_enabled(False)
    wait, array = (lambda: None), torch.from_numpy


def uniform(low, high, shape): return array(rng.uniform(low, high, shape).astype("f"))
def signed(*shape): return uniform(-1, 1, shape)
def positive(*shape): return uniform(0.1, 1, shape)
def weight(*shape): return uniform(-0.1, 0.1, shape)
def below(n, *shape):
    return array(rng.randint(0, n, shape).astype("f" if peer == "mxnet" else "i8"))


def measure(name, step):
    """Prints milliseconds per call: the best of five loops of about a tenth of a second."""
    s = time.perf_counter(); step(); step(); wait(); n = int(0.1 / (time.perf_counter() - s))
    n = max(1, min(n, 2000))
    best = 1e9
    for k in [max(1, n // 10)] + [n] * 5:
        s = time.perf_counter()
        for _ in range(k): step()
        wait()
        if k == n: best = min(best, (time.perf_counter() - s) / n)
    print("%s\t%.5f\tms/op" % (name, best * 1e3), flush=True)


def line(name, inputs, mxnet, torch_step, **attrs):
    """Measures one operator. inputs makes the operands; mxnet is the name of MXNet's operator;
    torch_step(*operands) returns a function that computes once.
    """
    name = "ops." + name
    if not wanted(name): return
    x = inputs()
    if peer == "torch": return measure(name, torch_step(*x))
    op, train = mx.nd, attrs.pop("train", False)
    for part in mxnet.split("."): op = getattr(op, part)
    out = x[0] if mxnet.endswith("_update") else op(*x, **attrs)
    with (mx.autograd.train_mode() if train else mx.autograd.predict_mode()):
        measure(name, lambda: op(*x, out=out, **attrs))


def into(f, like, *args, **kw):
    """A torch step that writes to an existing array."""
    out = f(*like, *args, **kw)
    return lambda: f(*like, *args, out=out, **kw)


def conv(x, w, stride, pad): return lambda: F.conv2d(x, w, stride=stride, padding=pad)
def bn(train): return lambda x, g, b, m, v: lambda: F.batch_norm(x, m, v, g, b, train, 0.1, 1e-3)
def dense(x, w, b):
    out = torch.empty(x.shape[0], w.shape[0])
    return lambda: torch.addmm(b, x, w.t(), out=out)


line("conv7x7", lambda: (signed(8, 3, 224, 224), weight(64, 3, 7, 7)), "Convolution",
     lambda x, w: conv(x, w, 2, 3), kernel=(7, 7), stride=(2, 2), pad=(3, 3), num_filter=64,
     no_bias=True)
line("conv3x3", lambda: (signed(8, 64, 56, 56), weight(64, 64, 3, 3)), "Convolution",
     lambda x, w: conv(x, w, 1, 1), kernel=(3, 3), pad=(1, 1), num_filter=64, no_bias=True)
line("conv3x3s2", lambda: (signed(8, 128, 56, 56), weight(128, 128, 3, 3)), "Convolution",
     lambda x, w: conv(x, w, 2, 1), kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=128,
     no_bias=True)
line("conv1x1", lambda: (signed(8, 256, 56, 56), weight(64, 256, 1, 1)), "Convolution",
     lambda x, w: conv(x, w, 1, 0), kernel=(1, 1), num_filter=64, no_bias=True)
line("conv1x1late", lambda: (signed(8, 512, 7, 7), weight(2048, 512, 1, 1)), "Convolution",
     lambda x, w: conv(x, w, 1, 0), kernel=(1, 1), num_filter=2048, no_bias=True)
norm = lambda: (signed(8, 64, 112, 112), positive(64), signed(64), signed(64), positive(64))
line("batchnorm", norm, "BatchNorm", bn(False), fix_gamma=False)
line("batchnorm_train", norm, "BatchNorm", bn(True), fix_gamma=False, train=True)
line("maxpool", lambda: (signed(8, 64, 112, 112),), "Pooling",
     lambda x: lambda: F.max_pool2d(x, 3, 2, 1), kernel=(3, 3), stride=(2, 2), pad=(1, 1),
     pool_type="max")
line("avgpool", lambda: (signed(8, 2048, 7, 7),), "Pooling",
     lambda x: lambda: F.adaptive_avg_pool2d(x, 1), kernel=(7, 7), global_pool=True,
     pool_type="avg")
line("relu", lambda: (signed(8, 256, 56, 56),), "Activation",
     lambda x: into(torch.clamp_min, [x], 0), act_type="relu")
line("residual", lambda: (signed(8, 256, 56, 56), signed(8, 256, 56, 56)), "elemwise_add",
     lambda *x: into(torch.add, x))
line("fc", lambda: (signed(32, 2048), weight(1000, 2048), signed(1000)), "FullyConnected", dense,
     num_hidden=1000)

line("dense_up", lambda: (signed(1024, 768), weight(3072, 768), signed(3072)), "FullyConnected",
     dense, num_hidden=3072)
line("dense_down", lambda: (signed(1024, 3072), weight(768, 3072), signed(768)), "FullyConnected",
     dense, num_hidden=768)
line("attention_qk", lambda: (signed(96, 128, 64), signed(96, 128, 64)), "batch_dot",
     lambda q, k: into(torch.bmm, [q, k.transpose(1, 2)]), transpose_b=True)
line("attention_av", lambda: (signed(96, 128, 128), signed(96, 128, 64)), "batch_dot",
     lambda a, v: into(torch.bmm, [a, v]))
def interleaved(x):
    q, k, _ = [p.transpose(0, 1) for p in x.view(128, 96, 3, 64).unbind(2)]
    out = torch.empty(96, 128, 128)
    return lambda: torch.baddbmm(out, q, k.transpose(1, 2), beta=0, alpha=0.125, out=out)
line("selfatt_qk", lambda: (signed(128, 8, 2304),), "contrib.interleaved_matmul_selfatt_qk",
     interleaved, heads=12)
line("softmax", lambda: (signed(8, 12, 128, 128),), "softmax",
     lambda x: into(torch.softmax, [x], -1), axis=-1)
line("layernorm", lambda: (signed(1024, 768), signed(768), signed(768)), "LayerNorm",
     lambda x, g, b: lambda: F.layer_norm(x, (768,), g, b), axis=-1)
line("gelu", lambda: (signed(1024, 3072),), "LeakyReLU", lambda x: lambda: F.gelu(x),
     act_type="gelu")
line("embedding", lambda: (below(30522, 8, 128), signed(30522, 768)), "Embedding",
     lambda i, w: lambda: F.embedding(i, w), input_dim=30522, output_dim=768)
line("heads", lambda: (signed(8, 128, 12, 64),), "transpose",
     lambda x: lambda: x.transpose(1, 2).contiguous(), axes=(0, 2, 1, 3))

line("gates", lambda: (signed(20, 650), weight(2600, 650), signed(2600)), "FullyConnected", dense,
     num_hidden=2600)
def lstm(x, w, h, c): net = torch.nn.LSTM(650, 650, 2); return lambda: net(x, (h, c))
line("lstm",
     lambda: (signed(35, 20, 650), weight(2 * 4 * 650 * 1300 + 2 * 2 * 2600),
              signed(2, 20, 650), signed(2, 20, 650)),
     "RNN", lstm, state_size=650, num_layers=2, mode="lstm")
line("log_softmax", lambda: (signed(700, 10000),), "log_softmax",
     lambda x: into(torch.log_softmax, [x], -1), axis=-1)
line("topk", lambda: (signed(64, 10000),), "topk", lambda x: lambda: torch.topk(x, 10), axis=-1,
     k=10)

one, two = lambda: (signed(S, S),), lambda: (signed(S, S), signed(S, S))
line("add", two, "elemwise_add", lambda *x: into(torch.add, x))
line("mul", two, "elemwise_mul", lambda *x: into(torch.mul, x))
line("broadcast_add", lambda: (signed(S, S), signed(1, S)), "broadcast_add",
     lambda *x: into(torch.add, x))
line("exp", one, "exp", lambda *x: into(torch.exp, x))
line("tanh", one, "tanh", lambda *x: into(torch.tanh, x))
line("sigmoid", one, "sigmoid", lambda *x: into(torch.sigmoid, x))
line("sqrt", lambda: (positive(S, S),), "sqrt", lambda *x: into(torch.sqrt, x))
line("sum_rows", one, "sum", lambda *x: into(torch.sum, x, 1), axis=1)
line("sum_columns", one, "sum", lambda *x: into(torch.sum, x, 0), axis=0)
line("mean", one, "mean", lambda x: lambda: torch.mean(x))
line("max", one, "max", lambda *x: into(torch.amax, x, 1), axis=1)
line("argmax", one, "argmax", lambda *x: into(torch.argmax, x, 1), axis=1)
line("transpose", one, "transpose", lambda x: lambda: x.t().contiguous())
line("concat", lambda: (signed(S, S // 2), signed(S, S // 2)), "Concat",
     lambda *x: into(torch.cat, [x], 1), dim=1)
line("slice", one, "slice", lambda x: lambda: x[:, 1024:3072].contiguous(), begin=(0, 1024),
     end=(4096, 3072))
line("take", lambda: (signed(S, S), below(S, S)), "take",
     lambda x, i: into(torch.index_select, [x], 0, i))
line("one_hot", lambda: (below(S, S),), "one_hot", lambda i: lambda: F.one_hot(i, S).float(),
     depth=S)
line("where", lambda: (below(2, S, S), signed(S, S), signed(S, S)), "where",
     lambda c, x, y: into(torch.where, [c.bool(), x, y]))
def half(x): out = torch.empty(S, S, dtype=torch.float16); return lambda: out.copy_(x)
line("cast_float16", one, "Cast", half, dtype="float16")


def optimizer(kind, **options):
    """A torch step of a fused optimizer on one matrix."""
    def prepare(w, g, *_):
        w.grad = g
        o = kind([w], fused=True, **options)
        return o.step
    return prepare


sgd = lambda: (signed(S, S), signed(S, S), signed(S, S))
adam = lambda: (signed(S, S), signed(S, S), signed(S, S), positive(S, S))
line("sgd_mom_update", sgd, "sgd_mom_update",
     lambda *x: optimizer(torch.optim.SGD, lr=0.01, momentum=0.9, weight_decay=0.0001)(*x), lr=0.01,
     momentum=0.9, wd=0.0001)
line("adam_update", adam, "adam_update",
     lambda *x: optimizer(torch.optim.Adam, lr=0.01, weight_decay=0.0001)(*x), lr=0.01, wd=0.0001)
line("dropout", one, "Dropout", lambda x: lambda: F.dropout(x, 0.5), p=0.5, mode="always")
line("normal", lambda: (), "random_normal", lambda: into(torch.normal, [0.0, 1.0, (S, S)]),
     shape=(S, S))
