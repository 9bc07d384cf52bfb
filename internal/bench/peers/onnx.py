"""Models of ONNX in ONNX Runtime or OpenVINO.
Usage: onnx.py ort|openvino FOLDER; reads names of lines and answers each with NAME<TAB>CALLS PER SECOND<TAB>UNIT, or with
NAME<TAB>error<TAB>TEXT. NAME.txt has the path of the model and the word loose where outputs are not compared, NAME.npz
the inputs and gomx's outputs."""
import sys, time
import numpy as np

peer, folder = sys.argv[1:3]
calls = {}


def ort_call(path, inputs):
    import onnxruntime as ort
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def openvino_call(path, inputs):
    import openvino as ov
    core = ov.Core()
    model = core.read_model(path)
    shapes = {}
    for port in model.inputs:
        name = next(n for n in inputs if n in port.get_names())
        shapes[port] = list(inputs[name].shape)
    model.reshape(shapes)
    hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(model, "CPU", hints).create_infer_request()

    def call():
        done = request.infer(inputs)
        return [done[i] for i in range(len(model.outputs))]
    return call


def prepare(line):
    text = open("%s/%s.txt" % (folder, line)).read().split("\n")
    arrays = np.load("%s/%s.npz" % (folder, line))
    inputs = {k[3:]: arrays[k] for k in arrays.files if k.startswith("in:")}
    try:
        call = (ort_call if peer == "ort" else openvino_call)(text[0], inputs)
    except Exception as e:
        raise ValueError("cannot load the model: %s" % " ".join(str(e).split())[:200])
    outputs = call()
    for i, got in enumerate(outputs):
        want = arrays["out:%d" % i]
        got = np.asarray(got).reshape(want.shape)
        if "loose" in text[1:]:
            continue
        error = np.max(np.abs(got.astype(np.float64) - want) / np.maximum(1, np.abs(want)), initial=0)
        if not error < 1e-3:
            raise ValueError("output %d differs from gomx's by %.2g" % (i, error))
    calls.clear()
    calls[line] = call


def measure(line):
    if line not in calls:
        prepare(line)
        calls[line]()
    start = time.perf_counter()
    calls[line]()
    return "%s\t%.6g\tcalls/s" % (line, 1 / (time.perf_counter() - start))


for line in sys.stdin:
    line = line.strip()
    try:
        print(measure(line), flush=True)
    except Exception as e:
        print("%s\terror\t%s" % (line, " ".join(str(e).split())), flush=True)
