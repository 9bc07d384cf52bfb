"""MXNet kvstore dist_sync: push + pull round trips between processes on the loopback. Usage: kv.py [REGEX of line names]
Without a role in the environment it starts scheduler, server and workers; ".cpu" lines are processor seconds of all of
them per GiB that a worker pushes, ".switches" lines the context switches of their threads in a round."""
import glob, os, re, subprocess, sys, time

CASES = [  # name, floats, workers, rounds
    ('kv.4KB', 1000, 1, 500), ('kv.31KB.w3', 7850, 3, 500), ('kv.1MB', 250000, 1, 100),
    ('kv.1MB.w3', 250000, 3, 100), ('kv.100MB', 25000000, 1, 6)]
TICK = os.sysconf('SC_CLK_TCK')


def seconds(pids):
    """Processor time of processes so far."""
    total = 0
    for pid in pids:
        f = open('/proc/%d/stat' % pid).read().rpartition(')')[2].split()
        total += int(f[11]) + int(f[12])
    return total / TICK


def switches(pids):
    """Context switches of processes so far."""
    total = 0
    for path in (p for pid in pids for p in glob.glob('/proc/%d/task/*/status' % pid)):
        try:
            total += sum(int(n) for n in re.findall(r'voluntary_ctxt_switches:\s*(\d+)', open(path).read()))
        except FileNotFoundError:
            pass  # the thread has ended
    return total


def worker(name, floats, workers, rounds):
    import mxnet as mx
    kv = mx.kv.create('dist_sync')
    a, b = mx.nd.ones((floats,)), mx.nd.zeros((floats,))
    kv.init(1, a)
    def go(k):
        for _ in range(k):
            kv.push(1, a)
            kv.pull(1, b)
        mx.nd.waitall()
    go(max(2, rounds // 10))
    kv._barrier()
    best = cost = switched = 1e9
    for _ in range(3):
        # The parent writes the list of processes when all have started.
        pids = [int(p) for p in open(os.environ['KV_PIDS']).read().split()]
        s, c, t = switches(pids), seconds(pids), time.perf_counter()
        go(rounds)
        best = min(best, (time.perf_counter() - t) / rounds)
        cost = min(cost, (seconds(pids) - c) / rounds)
        switched = min(switched, (switches(pids) - s) / rounds)
        kv._barrier()
    if kv.rank == 0:
        print('%s\t%.1f\tus' % (name, best * 1e6))
        print('%s.cpu\t%.4f\ts/GiB' % (name, cost / (floats * 4 / 2.0**30)))
        print('%s.switches\t%.1f\tswitches/round' % (name, switched), flush=True)


def job(name, floats, workers, rounds):
    import socket, tempfile
    s = socket.socket()
    s.bind(('127.0.0.1', 0))
    pids = tempfile.NamedTemporaryFile('w')
    env = dict(os.environ, DMLC_PS_ROOT_URI='127.0.0.1', DMLC_PS_ROOT_PORT=str(s.getsockname()[1]), DMLC_NUM_WORKER=str(workers),
               DMLC_NUM_SERVER='1', DMLC_INTERFACE='lo', KV_PIDS=pids.name)
    s.close()
    start = lambda role, *a: subprocess.Popen([sys.executable, *a], env=dict(env, DMLC_ROLE=role), stderr=subprocess.DEVNULL)
    all = [start('scheduler', '-c', 'import mxnet'), start('server', '-c', 'import mxnet')]
    all += [start('worker', os.path.abspath(__file__), '^' + re.escape(name) + '$') for _ in range(workers)]
    pids.write(' '.join(str(p.pid) for p in all))
    pids.flush()
    try:
        for p in all[2:]:
            if p.wait(timeout=240):
                sys.exit('a worker failed with status %d' % p.returncode)
    finally:
        for p in all:
            p.kill()


for case in CASES:
    if len(sys.argv) < 2 or any(re.search(sys.argv[1], line) for line in (case[0], case[0] + '.cpu', case[0] + '.switches')):
        (worker if os.environ.get('DMLC_ROLE') == 'worker' else job)(*case)
