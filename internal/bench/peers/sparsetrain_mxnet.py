"""A process of a job of gomx bench sparse-train in MXNet; the environment names its role. Usage: sparsetrain_mxnet.py PLAN"""
import json, os, sys, time
import mxnet as mx  # a scheduler or a server does its work here
import numpy as np

plan = json.loads(sys.argv[1])
features, batch = plan['features'], plan['batch']
kv = mx.kv.create(plan['store'])
it = mx.io.LibSVMIter(data_libsvm=os.path.join(plan['folder'], 'part-%d' % kv.rank), data_shape=(features,), batch_size=batch)

x = mx.sym.var('data', stype='csr')
w = mx.sym.var('w_weight', shape=(features, 1), stype='row_sparse')
y = mx.sym.broadcast_add(mx.sym.dot(x, w), mx.sym.var('bias', shape=(1, 1)))
tables = ['w_weight']
if plan['model'] == 'fm':  # as in example/sparse/factorization_machine
    v = mx.sym.var('v_weight', shape=(features, plan['rank']), stype='row_sparse')
    squares = mx.sym.dot(mx.sym.square(x), mx.sym._internal._square_sum(data=v, axis=1, keepdims=True))
    pairs = mx.sym.sum(mx.sym.square(mx.sym.dot(x, v)), axis=1, keepdims=True)
    y = y + 0.5 * (pairs - squares)
    tables.append('v_weight')
net = mx.sym.LogisticRegressionOutput(y, mx.sym.var('softmax_label'), name='softmax')

mod = mx.mod.Module(net, data_names=['data'], label_names=['softmax_label'], context=mx.cpu())
mod.bind(it.provide_data, [mx.io.DataDesc('softmax_label', (batch,))])
mod.init_params(mx.init.Constant(0.01))
mod.init_optimizer(kvstore=kv, optimizer='sgd', optimizer_params={'learning_rate': plan['rate']})


def rows(b):
    columns = b.data[0].indices
    return {name: columns for name in tables}


def forever():
    while True:
        it.reset()
        for b in it:
            yield b


batches = forever()


def run(steps):
    for _ in range(steps):
        b = next(batches)
        mod.prepare(b, sparse_row_id_fn=rows)
        mod.forward_backward(b)
        mod.update()
    mx.nd.waitall()
    return b


def say(*what):
    print(*what, sep='\t', flush=True)


b = run(plan['warm'])
q = mod.get_outputs()[0].asnumpy().reshape(-1)
label = b.label[0].asnumpy().reshape(-1)
say('check', float(-np.log(np.where(label > 0.5, q, 1 - q)).mean()), 0)
kv._barrier()
say('begin')
t = time.perf_counter()
run(plan['steps'])
say('end', time.perf_counter() - t, plan['steps'] * batch)
kv._barrier()
