"""torch.distributed all_reduce with the gloo backend, between 3 processes over TCP on the loopback.
Usage: allreduce.py [REGEX of line names]"""
import os, re, socket, subprocess, sys, time

CASES = [('allreduce.4KB', 1000, 2000), ('allreduce.1MB', 250000, 200), ('allreduce.100MB', 25000000, 6)]  # name, floats, rounds
WORKERS = 3


def worker(name, floats, rounds):
    import torch
    import torch.distributed as dist
    dist.init_process_group('gloo', init_method='env://')
    a = torch.zeros(floats)
    for _ in range(max(2, rounds // 10)):
        dist.all_reduce(a)
    best = 1e9
    for _ in range(3):
        dist.barrier()
        t = time.perf_counter()
        for _ in range(rounds):
            dist.all_reduce(a)
        best = min(best, (time.perf_counter() - t) / rounds)
    dist.barrier()
    if dist.get_rank() == 0:
        print('%s\t%.1f\tus' % (name, best * 1e6), flush=True)


def job(name):
    s = socket.socket()
    s.bind(('127.0.0.1', 0))
    env = dict(os.environ, MASTER_ADDR='127.0.0.1', MASTER_PORT=str(s.getsockname()[1]), WORLD_SIZE=str(WORKERS),
               GLOO_SOCKET_IFNAME='lo')
    s.close()
    line = '^' + re.escape(name) + '$'
    all = [subprocess.Popen([sys.executable, os.path.abspath(__file__), line], env=dict(env, RANK=str(r))) for r in range(WORKERS)]
    try:
        for p in all:
            if p.wait(timeout=240):
                sys.exit('a worker failed with status %d' % p.returncode)
    finally:
        for p in all:
            p.kill()


for name, floats, rounds in CASES:
    if len(sys.argv) < 2 or re.search(sys.argv[1], name):
        if 'RANK' in os.environ:
            worker(name, floats, rounds)
            os._exit(0)  # gloo's threads abort at times when a peer has ended before them
        job(name)
