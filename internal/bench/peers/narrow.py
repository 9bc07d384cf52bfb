"""Convolutional networks in bfloat16 and int8 in openvino, ort (onnxruntime), torch or mxnet, with the weights of gomx.
Usage: narrow.py PEER FOLDER; reads names of lines and answers each with NAME<TAB>FIGURE<TAB>UNIT, or with
NAME<TAB>error<TAB>reason. The first answer of a line compares the outputs with those of gomx. Names are in narrow.go."""
import os, re, sys, time
import numpy as np

peer, folder = sys.argv[1], sys.argv[2]
TURN, THREADS = 0.15, 2
ERRORS = {"bfloat16": 0.3 if peer == "mxnet" else 0.05, "int8": 0.3}  # MXNet rounds more often
NAME = re.compile(r"narrow\.(\w+)\.bs(\d+)\.(bfloat16|int8)$")


def dynamic(path):
    """The model in a file, for batches of any size."""
    import onnx
    model = onnx.load(path)
    for v in list(model.graph.input) + list(model.graph.output):
        if v.type.tensor_type.shape.dim:
            v.type.tensor_type.shape.dim[0].dim_param = "n"
    del model.graph.value_info[:]
    return model


def qdq(name):
    """The file of a network in int8, made by onnxruntime's static quantization where it does not exist yet."""
    path = "%s/%s.qdq.onnx" % (folder, name)
    if os.path.exists(path):
        return path
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.batches = iter(np.load("%s/%s.calibration.npz" % (folder, name))["data"][:, None])

        def get_next(self):
            x = next(self.batches, None)
            return None if x is None else {"data": x}

    plain, folded = path + ".plain", path + ".folded"
    onnx.save(dynamic("%s/%s.onnx" % (folder, name)), plain)
    quant_pre_process(plain, folded, skip_symbolic_shape=True)
    quantize_static(folded, path + ".new", Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    os.remove(plain), os.remove(folded)
    os.rename(path + ".new", path)
    return path


def openvino_call(name, x, precision):
    import openvino as ov
    core = ov.Core()
    model = core.read_model(qdq(name) if precision == "int8" else "%s/%s.onnx" % (folder, name))
    model.reshape(list(x.shape))
    config = {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY"}
    if precision == "bfloat16":
        config["INFERENCE_PRECISION_HINT"] = "bf16"
    request = core.compile_model(model, "CPU", config).create_infer_request()
    return lambda: request.infer([x])[0]


def ort_call(name, x, precision):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = ort.InferenceSession(qdq(name), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"data": x})[0]


def torch_call(name, x, precision):
    """Runs the nodes of the file, batch norms folded into the convolutions, channels last."""
    import onnx, torch, torch.nn.functional as F
    from onnx import numpy_helper
    torch.set_num_threads(THREADS)
    graph = onnx.load("%s/%s.onnx" % (folder, name)).graph
    p = {t.name: torch.tensor(numpy_helper.to_array(t)) for t in graph.initializer}
    steps, made = [], {}

    def step(node):
        a = {t.name: onnx.helper.get_attribute_value(t) for t in node.attribute}
        ins = [i for i in node.input if i not in p]
        if node.op_type == "Conv":
            w, b = p[node.input[1]], p.get(node.input[2]) if len(node.input) > 2 else None
            s = {"w": w, "b": torch.zeros(w.shape[0]) if b is None else b, "stride": a.get("strides", [1, 1]),
                 "padding": a.get("pads", [0, 0, 0, 0])[:2], "groups": a.get("group", 1)}
            return s, ins, lambda x: F.conv2d(x, s["w"], s["b"], s["stride"], s["padding"], 1, s["groups"])
        if node.op_type == "Gemm":
            s = {"w": p[node.input[1]] if a.get("transB") else p[node.input[1]].T, "b": p[node.input[2]]}
            return s, ins, lambda x: F.linear(x, s["w"], s["b"])
        if node.op_type == "Relu":
            return None, ins, torch.relu_
        if node.op_type == "Add":
            return None, ins, torch.add
        if node.op_type == "MaxPool":
            k, s, d = a["kernel_shape"], a["strides"], a.get("pads", [0, 0, 0, 0])[:2]
            return None, ins, lambda x: F.max_pool2d(x, k, s, d)
        if node.op_type in ("GlobalAveragePool", "ReduceMean"):
            return None, ins, lambda x: x.mean((2, 3), keepdim=True)
        if node.op_type in ("Flatten", "Reshape"):
            return None, ins, lambda x: x.flatten(1)
        if node.op_type in ("Identity", "Dropout"):
            return None, ins, lambda x: x
        raise ValueError("no rule for " + node.op_type)

    for node in graph.node:
        if node.op_type == "BatchNormalization" and made[node.input[0]][0] is not None:
            conv = made[node.input[0]]
            gamma, beta, mean, var = (p[i] for i in node.input[1:5])
            eps = next((t.f for t in node.attribute if t.name == "epsilon"), 1e-5)
            scale = gamma / torch.sqrt(var + eps)
            conv[0]["w"] = conv[0]["w"] * scale[:, None, None, None]
            conv[0]["b"] = (conv[0]["b"] - mean) * scale + beta
            conv[3] = node.output[0]
            made[node.output[0]] = conv
            continue
        made[node.output[0]] = [*step(node), node.output[0]]
        steps.append(made[node.output[0]])
    for s, *_ in steps:
        if s is not None:
            s["w"], s["b"] = s["w"].to(torch.bfloat16), s["b"].to(torch.bfloat16)
            if s["w"].dim() == 4:
                s["w"] = s["w"].to(memory_format=torch.channels_last)

    def forward(x):
        values = {"data": x}
        for _, ins, f, out in steps:
            values[out] = f(*[values[i] for i in ins])
        return values[steps[-1][3]]

    data = torch.from_numpy(x)

    def call():
        with torch.inference_mode():
            return forward(data.to(torch.bfloat16, memory_format=torch.channels_last)).float().numpy()
    return call


def mxnet_call(name, x, precision):
    import mxnet as mx
    if not hasattr(np, "bool"):
        np.bool = np.bool_
    symbol, args, aux = mx.model.load_checkpoint("%s/%s" % (folder, name), 0)
    if precision == "int8":
        from mxnet.contrib.quantization import quantize_model_mkldnn
        images = np.load("%s/%s.calibration.npz" % (folder, name))["data"]
        it = mx.io.NDArrayIter(images, None, 1)
        symbol, args, aux = quantize_model_mkldnn(symbol, args, aux, label_names=None, ctx=mx.cpu(), calib_mode="naive", calib_data=it,
                                                  quantized_dtype="auto", quantize_mode="smart")
    else:
        from mxnet.contrib import amp
        symbol, args, aux = amp.convert_model(symbol, args, aux, target_dtype="bfloat16")
    module = mx.mod.Module(symbol, label_names=None, context=mx.cpu())
    module.bind([("data", x.shape)], for_training=False)
    module.set_params(args, aux, allow_missing=True)
    batch = mx.io.DataBatch([mx.nd.array(x)])

    def call():
        module.forward(batch, is_train=False)
        return module.get_outputs()[0].astype("float32").asnumpy()
    return call


calls = {"openvino": openvino_call, "ort": ort_call, "torch": torch_call, "mxnet": mxnet_call}
ready = {}


def prepared(line):
    m = NAME.match(line)
    if not m:
        raise ValueError("no such line")
    name, batch, precision = m.groups()
    if line not in ready:
        ready.clear()
        files = np.load("%s/%s.bs%s.npz" % (folder, name, batch))
        call = calls[peer](name, files["data"], precision)
        want, got = files["output"], np.asarray(call(), np.float32)
        error = np.linalg.norm(got.reshape(want.shape) - want) / np.linalg.norm(want)
        if not error <= ERRORS[precision]:
            raise ValueError("the output differs from gomx's in float32 by %.2g of its norm, want at most %g" %
                             (error, ERRORS[precision]))
        ready[line] = call
    return ready[line], int(batch)


def measure(line):
    call, batch = prepared(line)
    best, end = 1e9, time.perf_counter() + TURN
    while True:
        start = time.perf_counter()
        call()
        now = time.perf_counter()
        best = min(best, now - start)
        if now >= end:
            return "%s\t%.5g\timages/s" % (line, batch / best)


answers = os.fdopen(os.dup(1), "w", buffering=1)  # libraries write to the standard output, too
os.dup2(2, 1)
for line in sys.stdin:
    line = line.strip()
    try:
        answers.write(measure(line) + "\n")
    except Exception as e:
        answers.write("%s\terror\t%s\n" % (line, " ".join(str(e).split())))
