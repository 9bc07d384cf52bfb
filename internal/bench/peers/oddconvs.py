"""MXNet executor: processor time of convolutions with odd numbers of channels.

Reads names of lines from its input, one per line, and answers each with NAME<TAB>VALUE<TAB>us/op, or with
NAME<TAB>error<TAB>reason. The sizes are in the name:

    oddconvs.FAMILY.kKERNEL.sSTRIDE.gGROUPS.iIN.oOUT.SIDE.bsBATCH.infer|train
    oddconvs.head.iIN.bBASE.oHEAD+HEAD.SIDE.bsBATCH.infer|train
"""
import re, sys, time
import mxnet as mx

SINGLE = re.compile(r"oddconvs\.\w+\.k(\d+)\.s(\d+)\.g(\d+)\.i(\d+)\.o(\d+)\.(\d+)\.bs(\d+)\.(infer|train)$")
HEAD = re.compile(r"oddconvs\.head\.i(\d+)\.b(\d+)\.o(\d+)\+(\d+)\.(\d+)\.bs(\d+)\.(infer|train)$")
LOOPS, LOOP, STEPS = 3, 0.04, 2000  # as in processor.go


def conv(x, kernel, stride, groups, out, name):
    return mx.sym.Convolution(x, kernel=(kernel, kernel), stride=(stride, stride), pad=(kernel // 2, kernel // 2),
                              num_filter=out, num_group=groups, name=name)


def network(line):
    """Returns symbol, shape of the data, and whether it is trained."""
    x = mx.sym.var("data")
    m = SINGLE.match(line)
    if m:
        kernel, stride, groups, channels, out, side, batch = map(int, m.groups()[:7])
        return conv(x, kernel, stride, groups, out, "conv"), (batch, channels, side, side), m.group(8) == "train"
    m = HEAD.match(line)
    if not m:
        raise ValueError("unknown line")
    channels, base, *heads, side, batch = map(int, m.groups()[:6])
    x = mx.sym.Activation(conv(x, 3, 1, 1, base, "base"), act_type="relu")
    parts = [mx.sym.Flatten(mx.sym.transpose(conv(x, 3, 1, 1, h, "head%d" % i), axes=(0, 2, 3, 1)))
             for i, h in enumerate(heads)]
    return mx.sym.Concat(*parts, dim=1), (batch, channels, side, side), m.group(7) == "train"


def measure(line):
    net, shape, training = network(line)
    ex = net.simple_bind(mx.cpu(), grad_req="write" if training else "null", data=shape)
    for a in ex.arg_dict.values():
        a[:] = mx.nd.random.uniform(-0.5, 0.5, shape=a.shape)
    head = mx.nd.ones(ex.outputs[0].shape)

    def loop(n):
        mx.nd.waitall()
        start = time.process_time()
        for _ in range(n):
            ex.forward(is_train=training)
            if training:
                ex.backward(head)
        mx.nd.waitall()
        return time.process_time() - start

    loop(2)
    n = max(1, min(int(2 * LOOP / max(loop(2), 1e-6)), STEPS))
    return min(loop(n) for _ in range(LOOPS)) / n * 1e6


for line in sys.stdin:
    line = line.strip()
    try:
        print("%s\t%.4f\tus/op" % (line, measure(line)), flush=True)
    except Exception as e:
        print("%s\terror\t%s" % (line, " ".join(str(e).split())[:300]), flush=True)
