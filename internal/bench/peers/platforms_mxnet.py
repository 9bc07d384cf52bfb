"""A process of a job of gomx bench platforms in MXNet; the environment names its role. Usage: platforms_mxnet.py PLAN"""
import json, sys, time
import mxnet as mx  # a scheduler or a server does its work here
import platforms_data as data

plan = json.loads(sys.argv[1])
kv = mx.kv.create('dist_async' if plan['async'] else 'dist_sync')
x, y = data.part(plan, kv.rank)
batch = plan['batch'] or len(x)
net = mx.sym.var('data')
layers = data.layers(plan)
for i, (_, n) in enumerate(layers):
    net = mx.sym.FullyConnected(net, num_hidden=n, name='fc%d' % i)
    if i + 1 < len(layers):
        net = mx.sym.Activation(net, act_type='relu')
if plan['outputs'] == 1:
    net = mx.sym.LogisticRegressionOutput(net, mx.sym.var('softmax_label'), name='softmax')
else:
    net = mx.sym.SoftmaxOutput(net, name='softmax')
it = mx.io.NDArrayIter(x, y.reshape(-1, 1) if plan['outputs'] == 1 else y, batch, shuffle=False, last_batch_handle='discard')
del x
mod = mx.mod.Module(net, context=mx.cpu())
mod.bind(it.provide_data, it.provide_label)
given = {'fc%d_weight' % i: mx.nd.array(data.weights(plan, i)) for i in range(len(layers))}
given.update(('fc%d_bias' % i, mx.nd.zeros(n)) for i, (_, n) in enumerate(layers))
mod.init_params(arg_params=given)
mod.init_optimizer(kvstore=kv, optimizer='sgd', optimizer_params={'learning_rate': plan['rate']})


def forever():
    while True:
        it.reset()
        for n, b in enumerate(it):
            yield n, b


batches = forever()


def run(steps):
    for _ in range(steps):
        n, b = next(batches)
        mod.forward_backward(b)
        mod.update()
    mx.nd.waitall()
    return n


n = run(plan['warm'] + 1)
data.say('check', *data.loss(mod.get_outputs()[0].asnumpy(), y[n * batch:(n + 1) * batch]))
kv._barrier()
data.say('begin')
t = time.perf_counter()
run(plan['steps'])
data.say('end', time.perf_counter() - t, plan['steps'] * batch)
kv._barrier()
