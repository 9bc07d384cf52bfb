"""Makes models of Attention and MultiHeadAttention of the domain com.microsoft with states and masks,
and writes inputs and ONNX Runtime's outputs: python make_heads.py FOLDER"""
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

random = np.random.default_rng(5)
BATCH, HEADS, SIZE, LENGTH, PAST = 2, 3, 4, 5, 6
WIDTH, TOTAL = HEADS * SIZE, LENGTH + PAST


def numbers(*shape):
    return random.normal(size=shape).astype(np.float32)


def whole(*values):
    return np.array(values, np.int32)


def may(*shape):
    m = (random.random(shape) < 0.7).astype(np.int32)
    m[..., 0] = 1
    return m


def case(folder, name, kind, names, inputs, outs, **attrs):
    """Writes a model; names are the node's inputs, empty where one is left out."""
    node = helper.make_node(kind, names, outs, domain="com.microsoft", num_heads=HEADS, **attrs)
    info = lambda n, a: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype),
                                                      a.shape)
    graph = helper.make_graph([node], name, [info(n, a) for n, a in inputs.items()],
                              [helper.make_tensor_value_info(o, onnx.TensorProto.FLOAT, None)
                               for o in outs])
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    data = os.path.join(folder, name, "test_data_set_0")
    os.makedirs(data)
    path = os.path.join(folder, name, "model.onnx")
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    results = session.run(None, inputs)
    for what, arrays in ("input", inputs.values()), ("output", results):
        for i, a in enumerate(arrays):
            with open(os.path.join(data, f"{what}_{i}.pb"), "wb") as f:
                f.write(numpy_helper.from_array(np.ascontiguousarray(a)).SerializeToString())


def packed(folder):
    base = {"x": numbers(BATCH, LENGTH, 7), "w": numbers(7, 3 * WIDTH), "b": numbers(3 * WIDTH)}
    past = {"p": numbers(2, BATCH, HEADS, PAST, SIZE)}
    masks = {"none": None, "ends": whole(3, 5), "window": whole(4, 5, 1, 0),
             "keys": may(BATCH, LENGTH), "pairs": may(BATCH, LENGTH, LENGTH)}
    later = {"none": None, "ends": whole(8, 11), "keys": may(BATCH, TOTAL),
             "pairs": may(BATCH, LENGTH, TOTAL)}
    for state, list in ("", masks), ("past-", later):
        for mask, m in list.items():
            for causal in 0, 1:
                names, inputs = ["x", "w", "b", "", ""], dict(base)
                if m is not None:
                    names[3], inputs["m"] = "m", m
                if state:
                    names[4] = "p"
                    inputs |= past
                case(folder, f"packed-{state}{mask}-{causal}", "Attention", names, inputs,
                     ["y", "present"] if state or mask == "none" else ["y"], unidirectional=causal)
    case(folder, "packed-bias", "Attention", ["x", "w", "b", "m", "", "s"], base | {
        "m": masks["keys"], "s": numbers(1, HEADS, LENGTH, LENGTH)}, ["y"], scale=0.7)


def multi(folder):
    base = {"q": numbers(BATCH, LENGTH, WIDTH), "k": numbers(BATCH, LENGTH, WIDTH),
            "v": numbers(BATCH, LENGTH, WIDTH), "b": numbers(3 * WIDTH)}
    past = {"pk": numbers(BATCH, HEADS, PAST, SIZE), "pv": numbers(BATCH, HEADS, PAST, SIZE)}
    outs = ["y", "present_key", "present_value"]
    case(folder, "multi-present", "MultiHeadAttention", ["q", "k", "v", "b"], base, outs)
    for causal in 0, 1:
        case(folder, f"multi-past-{causal}", "MultiHeadAttention", [
            "q", "k", "v", "b", "", "", "pk", "pv"], base | past, outs, unidirectional=causal)
    case(folder, "multi-past-mask", "MultiHeadAttention", [
        "q", "k", "v", "b", "m", "s", "pk", "pv"], base | {
            "m": may(BATCH, TOTAL), "s": numbers(1, 1, LENGTH, TOTAL)} | past, outs)
    case(folder, "multi-ready", "MultiHeadAttention", ["q", "k", "v"], {
        "q": base["q"], "k": past["pk"], "v": past["pv"]}, ["y"])


packed(sys.argv[1])
multi(sys.argv[1])
