"""Writes mxnet.json: calls of quantized operators and their results by MXNet 1.9.1 with oneDNN.

    OMP_NUM_THREADS=1 python make.py

Each call runs in a process of its own, because some calls end the process. Numbers of float32 are
written so that they are read back exactly.
"""
import json
import os
import sys

import mxnet as mx
import numpy as np

rng = np.random.RandomState(11)
cases = []


def s8(*shape):
    x = rng.randint(-128, 128, shape).astype("int8")
    x.flat[0] = -128
    return x


def u8(*shape):
    x = rng.randint(0, 256, shape).astype("uint8")
    x.flat[0] = 255
    return x


def f32(*shape, low=-3, high=3):
    return rng.uniform(low, high, shape).astype("float32")


def r(*values):
    return [np.array([v], "float32") for v in values]


def write(x):
    return {"dtype": str(x.dtype), "shape": list(x.shape), "data": [float(v) for v in x.ravel()]}


def case(name, inputs, **attrs):
    read, write_to = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            op = getattr(mx.nd._internal, "_contrib_" + name, None) or getattr(mx.nd.contrib, name)
            out = op(*[mx.nd.array(x, dtype=x.dtype) for x in inputs], **attrs)
            out = out if isinstance(out, list) else [out]
            result = {"out": [write(y.asnumpy()) for y in out]}
        except Exception as e:
            result = {"error": [l for l in str(e).split("\n") if l.strip()][-1][:90]}
        os.write(write_to, json.dumps(result).encode())
        os._exit(0)
    os.close(write_to)
    text = os.fdopen(read).read()
    os.waitpid(pid, 0)
    result = json.loads(text) if text else {"error": "MXNet crashes"}
    if "error" in result:
        print("left out:", name, attrs, [(str(x.dtype), x.shape) for x in inputs], result["error"])
        return
    cases.append({"op": "_contrib_" + name, "attrs": {k: str(v) for k, v in attrs.items()},
                  "in": [write(x) for x in inputs], **result})


cal = [{}, {"min_calib_range": -1.5, "max_calib_range": 2.5},
       {"min_calib_range": 0.0, "max_calib_range": 0.75}]
for t in "int8", "uint8":
    case("quantize", [f32(3, 5), *r(-2, 2.5)], out_type=t)
    case("quantize", [f32(1, 2, 2, 3), *r(0, 1.25)], out_type=t)
for t in "int8", "uint8", "auto":
    for c in cal:
        case("quantize_v2", [f32(2, 9)], out_type=t, **c)
        case("quantize_v2", [f32(2, 3, 2, 2, low=0)], out_type=t, **c)
        case("quantize_v2", [s8(4)], out_type=t, **c)
        case("quantize_v2", [u8(4)], out_type=t, **c)
        big = rng.randint(-2**31, 2**31, (3, 7)).astype("int32")
        case("requantize", [big, *r(-300, 400)], out_type=t, **c)
        case("requantize", [(big // 1000).astype("int32"), *r(-3e6, 1)], out_type=t, **c)
for c in cal:
    case("quantize_asym", [f32(2, 3, 4)], **c)
for x in s8(3, 6), u8(3, 6), s8(1, 2, 3, 2), u8(1, 2, 3, 2):
    case("dequantize", [x, *r(-3, 4)])
    case("dequantize", [x, *r(0, 0.7)])
for a in s8, u8:
    for b in s8, u8:
        for c in cal:
            case("quantized_elemwise_add", [a(3, 11), b(3, 11), *r(-1, 2, -3, 1.5)], **c)
            case("quantized_elemwise_add", [a(1, 2, 2, 5), b(1, 2, 2, 5), *r(0, 2, 0, 0.3)], **c)
        for dim, other in (1, (2, 2, 3)), (2, (2, 3, 1)), (-1, (2, 3, 3)), (0, (1, 3, 3)):
            shape = (2, 3, 3)
            case("quantized_concat", [a(*shape), b(*other), *r(-1, 2, -3, 1.5)], num_args=2, dim=dim)
        case("quantized_concat", [a(2, 3), b(2, 3), a(2, 1), *r(-1, 2, -1, 2, 0.5, 1)], num_args=3)
    for act in "relu",:
        case("quantized_act", [a(2, 7), *r(-1, 2)], act_type=act)
        case("quantized_act", [a(1, 2, 3, 3), *r(-1, 2)], act_type=act)
    case("quantized_flatten", [a(2, 3, 2), *r(-1, 2)])
    case("quantized_flatten", [a(4), *r(-1, 2)])
    for c in cal[1:]:
        for shape in (2, 3, 4, 5), (2, 16, 3, 3):
            n = shape[1]
            for more in {}, {"eps": 0.1, "fix_gamma": False}:
                case("quantized_batch_norm", [a(*shape), f32(n), f32(n), f32(n), f32(n, low=0.1),
                                              *r(-2, 3)], **c, **more)
    for pool in "max", "avg":
        for shape, kw in [((2, 3, 7, 6), dict(kernel=(3, 2))), ((1, 2, 5, 5), dict(kernel=(2, 2), stride=(2, 2))),
                          ((1, 2, 6, 5), dict(kernel=(3, 3), pad=(1, 1), stride=(2, 1))),
                          ((1, 2, 5, 5), dict(kernel=(2, 2), stride=(2, 2), pooling_convention="full")),
                          ((1, 2, 6, 6), dict(kernel=(3, 3), pad=(1, 1), count_include_pad=False)),
                          ((1, 2, 4, 3, 5), dict(kernel=(2, 3, 2))),
                          ((2, 2, 4, 3), dict(kernel=(1, 1), global_pool=True))]:
            case("quantized_pooling", [a(*shape), *r(-1, 2)], pool_type=pool, **kw)
    for shape, kw in [((3, 6), {}), ((2, 3, 2), {}), ((2, 3, 4), {"flatten": False})]:
        n = shape[-1] if kw else int(np.prod(shape[1:]))
        case("quantized_fully_connected", [a(*shape), s8(5, n), *r(-1, 2, -0.5, 0.3)], num_hidden=5,
             no_bias=True, **kw)
        case("quantized_fully_connected", [a(*shape), s8(5, n), s8(5), *r(-1, 2, -0.5, 0.3, -4, 2)],
             num_hidden=5, **kw)
    for shape, w, kw in [((2, 3, 5, 6), (4, 3, 3, 2), dict(kernel=(3, 2))),
                         ((1, 4, 7, 7), (2, 4, 3, 3), dict(kernel=(3, 3), stride=(2, 1), pad=(1, 0), dilate=(1, 2))),
                         ((1, 2, 4, 4, 5), (3, 2, 2, 3, 2), dict(kernel=(2, 3, 2)))]:
        case("quantized_conv", [a(*shape), s8(*w), *r(0, 2, -0.5, 0.3)], num_filter=w[0], no_bias=True, **kw)
        case("quantized_conv", [a(*shape), s8(*w), s8(w[0]), *r(0, 2, -0.5, 0.3, -1, 1)], num_filter=w[0],
             **kw)
case("quantized_embedding", [np.array([[0, 1.7, -3], [2, 9, 1]], "float32"), s8(3, 4), *r(-1, 2)],
     input_dim=3, output_dim=4)
case("quantized_embedding", [np.array([2, 0], "int32"), s8(3, 4), *r(-1, 2)], input_dim=3, output_dim=4)
for bins, quantized in (601, 255), (801, 31), (401, 127):
    x = rng.normal(0, 1, 20000)
    x[:5] *= 9
    hist, edges = np.histogram(x, bins, (-np.abs(x).max(), np.abs(x).max()))
    case("calibrate_entropy", [hist.astype("float32"), edges.astype("float32")],
         num_quantized_bins=quantized)
rows = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mxnet.json"), "w") as f:
    f.write('{"mxnet": "1.9.1", "cases": [\n' + rows.replace(".0,", ",").replace(".0]", "]") + "\n]}\n")
print(len(cases), "cases")
sys.exit(0)
