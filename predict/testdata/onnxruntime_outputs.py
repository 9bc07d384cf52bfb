"""Computes the outputs of ONNX models with ONNX Runtime.

    python onnxruntime_outputs.py JOBS.json

JOBS.json is a list of [model, inputs.npz, outputs.npz]. Outputs are named 0, 1 and so on.
"""
import json
import sys

import numpy as np
import onnxruntime as ort

options = ort.SessionOptions()
options.log_severity_level = 4
last, session = None, None
for model, inputs, outputs in json.load(open(sys.argv[1])):
    if model != last:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        last = model
    values = np.load(inputs)
    results = session.run(None, {name: values[name] for name in values.files})
    np.savez(outputs, **{str(i): r for i, r in enumerate(results)})
print("onnxruntime", ort.__version__)
