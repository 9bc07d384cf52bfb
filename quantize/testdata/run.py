"""Runs a checkpoint in MXNet 1.9.1: run.py PREFIX INPUT.params OUTPUT.params

INPUT holds the arrays of the data by name; OUTPUT gets the outputs as a list."""
import sys
import mxnet as mx

prefix, data, out = sys.argv[1:]
symbol, args, aux = mx.model.load_checkpoint(prefix, 0)
for name, value in mx.nd.load(data).items():
    args[name] = value
executor = symbol.bind(mx.cpu(), args, aux_states=aux)
mx.nd.save(out, [y.copy() for y in executor.forward(is_train=False)])
