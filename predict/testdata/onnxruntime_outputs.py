"""Computes the outputs of ONNX models with ONNX Runtime.

    python onnxruntime_outputs.py JOBS.json

JOBS.json is a list of [model, inputs.npz, outputs.npz]. Outputs are named 0, 1 and so on; moved/0
and so on are outputs for inputs whose floats are one bit larger.
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
    moved = {name: np.nextafter(a, np.float32(np.inf)) if a.dtype == np.float32 else a
             for name, a in values.items()}
    both = {str(i): r for i, r in enumerate(results)}
    both.update({f"moved/{i}": r for i, r in enumerate(session.run(None, moved))})
    np.savez(outputs, **both)
print("onnxruntime", ort.__version__)
