"""A process of a job of gomx bench platforms in TensorFlow: replicas of the graph, variables on a parameter server.
Usage: platforms_tf.py PLAN ps|worker RANK PORT"""
import os
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
os.environ['CUDA_VISIBLE_DEVICES'] = ''
import json, sys, time
import numpy as np
import tensorflow
from tensorflow.python.training import session_manager
import platforms_data as data

tf = tensorflow.compat.v1
tf.disable_eager_execution()
tf.logging.set_verbosity(tf.logging.ERROR)


class Manager(session_manager.SessionManager):
    """Checks every half second, not every half minute, whether the first worker has made the variables."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **dict(kwargs, recovery_wait_secs=0.5))


session_manager.SessionManager = Manager
plan, role, rank, port = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
workers = plan['workers']
cluster = tf.train.ClusterSpec({'ps': ['127.0.0.1:%d' % port], 'worker': ['127.0.0.1:%d' % (port + 1 + i) for i in range(workers)]})
server = tf.distribute.Server(cluster, job_name=role, task_index=rank)
if role == 'ps':
    server.join()
x, y = data.part(plan, rank)
batch = plan['batch'] or len(x)
with tf.device(tf.train.replica_device_setter(worker_device='/job:worker/task:%d' % rank, cluster=cluster)):
    step = tf.Variable(0, trainable=False, dtype=tf.int64, name='step')
    ready = tf.Variable(0, trainable=False, dtype=tf.int32, name='ready')
    arrive = tf.assign_add(ready, 1, use_locking=True)
    samples = tf.placeholder(tf.float32, [None, plan['features']])
    labels = tf.placeholder(tf.int64, [None])
    h = samples
    layers = data.layers(plan)
    for i, (_, n) in enumerate(layers):
        w = tf.Variable(data.weights(plan, i).T.copy())
        h = tf.matmul(h, w) + tf.Variable(tf.zeros([n]))
        if i + 1 < len(layers):
            h = tf.nn.relu(h)
    if plan['outputs'] == 1:
        each = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.cast(labels, tf.float32)[:, None], logits=h)
        right = tf.equal(h[:, 0] > 0, labels > 0)
    else:
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h)
        right = tf.equal(tf.argmax(h, axis=1), labels)
    loss, accuracy = tf.reduce_mean(each), tf.reduce_mean(tf.cast(right, tf.float32))
    opt, hooks = tf.train.GradientDescentOptimizer(plan['rate']), []
    if not plan['async']:
        opt = tf.train.SyncReplicasOptimizer(opt, replicas_to_aggregate=workers, total_num_replicas=workers)
    train = opt.minimize(loss, global_step=step)
    if not plan['async']:
        hooks = [opt.make_session_run_hook(rank == 0, num_tokens=0)]
whole = len(x) // batch
with tf.train.MonitoredTrainingSession(master=server.target, is_chief=rank == 0, hooks=hooks) as session:
    done = 0

    def run(steps, *more):
        global done
        for _ in range(steps):
            i = done % whole * batch
            out = session.run([train, *more], {samples: x[i:i + batch], labels: y[i:i + batch]})
            done += 1
        return out

    run(plan['warm'])
    data.say('check', *run(1, loss, accuracy)[1:])
    # Without rounds no worker waits: the first ones would be measured alone on the processors.
    session.run(arrive)
    while session.run(ready) < workers:
        time.sleep(0.001)
    data.say('begin')
    t = time.perf_counter()
    run(plan['steps'])
    data.say('end', time.perf_counter() - t, plan['steps'] * batch)
    # Leaving a session waits for workers that may have left already, so the parent ends the processes.
    time.sleep(600)
