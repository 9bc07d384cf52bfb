"""Makes the models of predict's tests, with outputs of ONNX Runtime.

    python make_models.py

wants onnx 1.17.0 and onnxruntime. Each model M.onnx has files M.N.npz with inputs in in/NAME and
outputs in out/NAME.
"""
import os

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper as nh

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx")
r = np.random.default_rng(7)


def weights(name, *shape):
    return nh.from_array(r.normal(size=shape).astype(np.float32), name)


def info(name, kind, dims):
    return h.make_tensor_value_info(name, kind, dims)


def write(name, nodes, inputs, outputs, tensors, runs):
    graph = h.make_graph(nodes, name, inputs, outputs, tensors)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8,
                         producer_name="make_models")
    onnx.checker.check_model(model, full_check=True)
    path = os.path.join(HERE, name + ".onnx")
    onnx.save(model, path)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    for i, run in enumerate(runs):
        got = session.run(None, run)
        both = {"in/" + k: v for k, v in run.items()}
        both.update({"out/" + o.name: v for o, v in zip(outputs, got)})
        np.savez(os.path.join(HERE, f"{name}.{i}.npz"), **both)


def floats(*shape):
    return r.normal(size=shape).astype(np.float32)


# A layer for any number of rows, and the sum of its results, a scalar.
write("rows", [
    h.make_node("Gemm", ["x", "w", "b"], ["g"]),
    h.make_node("Relu", ["g"], ["r"]),
    h.make_node("Shape", ["r"], ["s"], start=0, end=1),
    h.make_node("Concat", ["s", "two"], ["t"], axis=0),
    h.make_node("Reshape", ["r", "t"], ["y"]),
    h.make_node("ReduceSum", ["y"], ["total"], keepdims=0),
], [info("x", T.FLOAT, ["rows", 3])],
      [info("y", T.FLOAT, ["rows", 2, 2]), info("total", T.FLOAT, [])],
      [weights("w", 3, 4), weights("b", 4), nh.from_array(np.array([2, 2]), "two")],
      [{"x": floats(n, 3)} for n in (1, 2, 5)])

# A choice, by a number, between results of different shapes; the number is a scalar.
write("choice", [
    h.make_node("Equal", ["mode", "one"], ["c"]),
    h.make_node("If", ["c"], ["y"],
                then_branch=h.make_graph([h.make_node("Concat", ["x", "x"], ["y1"], axis=0)],
                                         "then", [], [info("y1", T.FLOAT, None)]),
                else_branch=h.make_graph([h.make_node("Neg", ["x"], ["y2"])],
                                         "else", [], [info("y2", T.FLOAT, None)])),
], [info("x", T.FLOAT, ["n"]), info("mode", T.INT64, [])], [info("y", T.FLOAT, ["m"])],
      [nh.from_array(np.array(1), "one")],
      [{"x": floats(3), "mode": np.array(1)}, {"x": floats(3), "mode": np.array(2)},
       {"x": floats(2), "mode": np.array(1)}])

# A result that no input decides about.
write("constant", [h.make_node("Add", ["a", "a"], ["y"])], [], [info("y", T.FLOAT, [2, 3])],
      [weights("a", 2, 3)], [{}])

# Branches with results of one shape, by a number, and by another inside of a branch.
inner = h.make_graph([h.make_node("If", ["up"], ["y2"],
                                  then_branch=h.make_graph([h.make_node("Exp", ["x"], ["e"])], "up",
                                                           [], [info("e", T.FLOAT, ["n"])]),
                                  else_branch=h.make_graph([h.make_node("Neg", ["x"], ["d"])], "down",
                                                           [], [info("d", T.FLOAT, ["n"])]))],
                     "else", [], [info("y2", T.FLOAT, ["n"])])
write("branches", [
    h.make_node("Greater", ["mode", "nine"], ["c"]),
    h.make_node("If", ["c"], ["y"], else_branch=inner,
                then_branch=h.make_graph([h.make_node("Mul", ["x", "x"], ["y1"])], "then", [],
                                         [info("y1", T.FLOAT, ["n"])])),
], [info("x", T.FLOAT, ["n"]), info("mode", T.INT64, []), info("up", T.BOOL, [1])],
      [info("y", T.FLOAT, ["n"])], [nh.from_array(np.array(9), "nine")],
      [{"x": floats(3), "mode": np.array(i), "up": np.array([i % 2 == 0])} for i in range(12)])
