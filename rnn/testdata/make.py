"""Writes the symbols of cells that MXNet 1.9.1 unrolls, which TestCells compares."""
import json, os
import mxnet as mx
from mxnet import rnn

def seq(*cells):
    s = rnn.SequentialRNNCell()
    for c in cells:
        s.add(c)
    return s

cells = {
    'rnn': (lambda: rnn.RNNCell(4, activation='relu'), 'NTC'),
    'lstm': (lambda: rnn.LSTMCell(4, prefix='a_', forget_bias=2.0), 'TNC'),
    'gru': (lambda: rnn.GRUCell(4), 'NTC'),
    'fused_lstm': (lambda: rnn.FusedRNNCell(4, num_layers=2, get_next_state=True), 'NTC'),
    'fused_gru_bi': (lambda: rnn.FusedRNNCell(3, 2, 'gru', bidirectional=True), 'TNC'),
    'fused_relu': (lambda: rnn.FusedRNNCell(3, 2, 'rnn_relu', prefix='f_'), 'NTC'),
    'unfused': (lambda: rnn.FusedRNNCell(3, 2, 'gru', bidirectional=True, dropout=0.5).unfuse(), 'NTC'),
    'stack': (lambda: seq(rnn.LSTMCell(3, prefix='a_'), rnn.DropoutCell(0.5),
                          rnn.GRUCell(2, prefix='b_')), 'NTC'),
    'bidirectional': (lambda: rnn.BidirectionalCell(rnn.LSTMCell(3, prefix='l_'),
                                                    rnn.GRUCell(2, prefix='r_')), 'TNC'),
    'residual': (lambda: rnn.ResidualCell(rnn.GRUCell(4)), 'NTC'),
    'zoneout': (lambda: rnn.ZoneoutCell(rnn.RNNCell(4), zoneout_states=0.3), 'NTC'),
    'conv_rnn': (lambda: rnn.ConvRNNCell((2, 3, 5, 4), 2), 'NTCHW'),
    'conv_lstm': (lambda: rnn.ConvLSTMCell(
        (2, 3, 5, 4), 2, h2h_kernel=(1, 3), h2h_dilate=(1, 2), i2h_kernel=(2, 3), i2h_stride=(2, 1),
        i2h_pad=(0, 2), i2h_dilate=(2, 1), i2h_weight_initializer='ones',
        h2h_weight_initializer=mx.init.Uniform(0.5), i2h_bias_initializer='ones',
        h2h_bias_initializer=mx.init.Constant(2), activation='tanh', prefix='c_'), 'NTCHW'),
    'conv_gru': (lambda: rnn.ConvGRUCell((2, 3, 5, 4), 3, activation=mx.sym.sin), 'TNCHW'),
    'shared': (lambda: shared(rnn.RNNParams('s_')), 'NTC'),
    'shared_fused': (lambda: rnn.FusedRNNCell(3, prefix='f_', params=rnn.RNNParams('p_')), 'NTC'),
    'function': (lambda: rnn.RNNCell(4, activation=mx.sym.sin), 'NTC'),
}

def shared(p):
    return seq(rnn.LSTMCell(4, prefix='a_', params=p),
               rnn.LSTMCell(4, prefix='b_', params=p, forget_bias=3.0))

shapes_of = {'NTC': (3, 2, 4), 'TNC': (2, 3, 4), 'NTCHW': (2, 2, 3, 5, 4), 'TNCHW': (2, 2, 3, 5, 4)}
here = os.path.dirname(os.path.abspath(__file__))
unpacked = {}
for name, (make, layout) in cells.items():
    cell = make()
    y, states = cell.unroll(2, mx.sym.Variable('data'), layout=layout, merge_outputs=True)
    if isinstance(cell, rnn.BidirectionalCell):
        states = sum(states, [])
    elif name == 'unfused':
        states = [s for part in states for s in (part if isinstance(part, list) else [part])]
    net = mx.sym.Group([y] + states)
    net.save(os.path.join(here, name + '.json'), remove_amp_cast=False)
    if name == 'shared':  # MXNet looks for parameters under the prefixes of the cells
        continue
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=shapes_of[layout])[0]))
    args = {k: mx.nd.arange(mx.nd.zeros(s).size).reshape(s) for k, s in shapes.items()}
    gates = cell.unpack_weights(args)
    packed = cell.pack_weights(gates)
    assert all((packed[k].asnumpy() == v.asnumpy()).all() for k, v in args.items())
    unpacked[name] = {k: [list(v.shape), float(v.reshape(-1)[0].asscalar())]
                      for k, v in gates.items() if k != 'data'}
with open(os.path.join(here, 'unpacked.json'), 'w') as f:
    json.dump(unpacked, f, indent=0, sort_keys=True)
