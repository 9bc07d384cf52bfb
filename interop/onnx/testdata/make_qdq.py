"""Quantizes a small network statically with onnxruntime.quantization and writes the models, an input
and ONNX Runtime's output: python make_qdq.py FOLDER"""
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                      quantize_static)

random = np.random.default_rng(7)


class Batches(CalibrationDataReader):
    """Batches for the calibration."""

    def __init__(self):
        self.left = [random.normal(size=(4, 3, 24, 20)).astype(np.float32) for _ in range(6)]

    def get_next(self):
        return {"x": self.left.pop()} if self.left else None


def network():
    """Convolutions, poolings, a residual sum, a join and dense layers."""
    nodes, weights = [], []

    def weight(name, *shape):
        scale = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.1
        weights.append(numpy_helper.from_array((random.normal(size=shape) * scale).astype(
            np.float32), name))
        return name

    def node(kind, inputs, output, **attrs):
        nodes.append(helper.make_node(kind, inputs, [output], name=output, **attrs))
        return output

    def conv(x, name, out, into, kernel, **attrs):
        return node("Conv", [x, weight(name + "w", out, into, kernel, kernel),
                             weight(name + "b", out)], name, **attrs)

    h = node("Relu", [conv("x", "c1", 16, 3, 3, pads=[1] * 4)], "r1")
    h = node("MaxPool", [h], "p1", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    a = node("Relu", [conv(h, "c2", 16, 16, 3, pads=[1] * 4)], "r2")
    a = conv(a, "c3", 16, 1, 3, pads=[1] * 4, group=16)
    s = node("Relu", [node("Add", [a, h], "add")], "r3")
    j = node("Concat", [s, conv(s, "c4", 8, 16, 1)], "cat", axis=1)
    g = node("GlobalAveragePool", [conv(j, "c5", 32, 24, 3, strides=[2, 2])], "gap")
    f = node("Flatten", [g], "flat")
    m = node("Relu", [node("MatMul", [f, weight("m1w", 32, 32)], "m1")], "r4")
    node("Gemm", [m, weight("g1w", 10, 32), weight("g1b", 10)], "y", transB=1)
    value = lambda n, s: helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s)
    graph = helper.make_graph(nodes, "net", [value("x", ["n", 3, 24, 20])], [value("y", ["n", 10])],
                              weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def main(folder):
    path = os.path.join(folder, "float.onnx")
    onnx.save(network(), path)
    x = random.normal(size=(5, 3, 24, 20)).astype(np.float32)
    for form in QuantFormat.QDQ, QuantFormat.QOperator:
        for data in QuantType.QUInt8, QuantType.QInt8:
            # QLinearMatMul of ONNX Runtime 1.32 computes the last of several scales wrongly.
            for channels in (False, True) if form == QuantFormat.QDQ else (False,):
                name = f"{form.name}-{data.name}-{'channels' if channels else 'whole'}"
                case = os.path.join(folder, name)
                os.makedirs(os.path.join(case, "test_data_set_0"))
                target = os.path.join(case, "model.onnx")
                quantize_static(path, target, Batches(), quant_format=form, per_channel=channels,
                                activation_type=data, weight_type=QuantType.QInt8)
                options = onnxruntime.SessionOptions()
                options.log_severity_level = 3
                # Optimized, models with scales by channel become such a QLinearMatMul.
                options.graph_optimization_level = (
                    onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
                y = onnxruntime.InferenceSession(target, options).run(None, {"x": x})[0]
                for kind, array in ("input", x), ("output", y):
                    with open(os.path.join(case, "test_data_set_0", kind + "_0.pb"), "wb") as f:
                        f.write(numpy_helper.from_array(array).SerializeToString())


main(sys.argv[1])
