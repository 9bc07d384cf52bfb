"""Runs models with ONNX Runtime, after ONNX's checker and shape inference.

python3 run.py FOLDER: every folder below FOLDER has model.onnx, inputs.json (a list of name, dtype,
shape) and the values as NAME.bin, numbered by their place in the list. Outputs are written as
out0.bin and so on, with outputs.json or error.txt.
"""
import json
import os
import sys

import numpy
import onnx
import onnxruntime


def run(folder):
    path = os.path.join(folder, "model.onnx")
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    # Kernels of AVX2 limit sums of two products of uint8 and int8 to 16 bits without it.
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    with open(os.path.join(folder, "inputs.json")) as f:
        inputs = json.load(f) or []
    wanted = {i.name for i in session.get_inputs()}
    feeds = {}
    for i, x in enumerate(inputs):
        data = numpy.fromfile(os.path.join(folder, "in%d.bin" % i), dtype=x["dtype"])
        if x["name"] in wanted:
            feeds[x["name"]] = data.reshape(x["shape"])
    outs = []
    for i, y in enumerate(session.run(None, feeds)):
        y = numpy.ascontiguousarray(y)
        y.tofile(os.path.join(folder, "out%d.bin" % i))
        outs.append({"shape": list(y.shape), "dtype": str(y.dtype)})
    with open(os.path.join(folder, "outputs.json"), "w") as f:
        json.dump(outs, f)


for name in sorted(os.listdir(sys.argv[1])):
    folder = os.path.join(sys.argv[1], name)
    try:
        run(folder)
    except Exception as e:
        with open(os.path.join(folder, "error.txt"), "w") as f:
            f.write(type(e).__name__ + ": " + str(e))
