package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// platformPeer describes how to run the jobs of a system.
type platformPeer struct {
	module   string // Python module that the peer needs
	install  string // packages to install for it
	variants []variant
	start    func(j *peerJob) error
}

// platformPeers are the systems of the comparison that can be installed.
var platformPeers = map[string]platformPeer{
	"mxnet": {"mxnet", "numpy==1.23.5 mxnet==1.9.1", []variant{{"mxnet", nil},
		{"mxnet omp2", []string{"OMP_NUM_THREADS=2"}}}, startMXNet},
	"tensorflow": {"tensorflow", "tensorflow-cpu", []variant{{"tensorflow", nil}}, startTensorFlow},
	"spark":      {"pyspark", "pyspark==3.5.3 numpy", []variant{{"spark", nil}}, startSpark},
}

// checkPlatformPeer returns an error that names a missing part of a peer and how to install it.
func checkPlatformPeer(ctx context.Context, p Peer) error {
	sys, ok := platformPeers[p.Name]
	if !ok {
		return fmt.Errorf("bench: platforms: peer %s, want mxnet, tensorflow or spark", p.Name)
	}
	how := fmt.Sprintf("make a virtual environment (python3 -m venv DIR), install it there with "+
		"DIR/bin/pip install %s, and give --peer %s=DIR/bin/python", sys.install, p.Name)
	if _, err := exec.LookPath(p.Python); err != nil {
		return fmt.Errorf("bench: peer %s is missing: %w: %s", p.Name, err, how)
	}
	if _, err := output(exec.CommandContext(ctx, p.Python, "-c",
		"import importlib.util, sys; sys.exit(importlib.util.find_spec('"+sys.module+"') is None)")); err != nil {
		return fmt.Errorf("bench: peer %s is missing: %s has no package %s: %s", p.Name, p.Python,
			sys.module, how)
	}
	if p.Name == "spark" {
		if _, err := exec.LookPath("java"); err != nil {
			return errors.New("bench: peer spark needs Java, which is missing: apt-get install " +
				"openjdk-17-jre-headless")
		}
	}
	return nil
}

// peerScripts writes the scripts of a suite into a folder: those whose names begin with it.
func peerScripts(dir, suite string) error {
	names, err := scripts.ReadDir("peers")
	if err != nil {
		return err
	}
	for _, n := range names {
		if !strings.HasPrefix(n.Name(), suite+"_") {
			continue
		}
		text, err := scripts.ReadFile("peers/" + n.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, n.Name()), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// peerJob is a running job of a peer.
type peerJob struct {
	ctx   context.Context
	peer  Peer
	dir   string // folder of the scripts
	plan  string
	run   *platformRun
	env   []string
	port  int
	speak int // number of workers that print

	servers int
	main    string // script of mxnet's processes

	wg     sync.WaitGroup
	cancel context.CancelFunc

	mu  sync.Mutex
	err error
}

// runPlatformPeer runs a job in a peer.
func runPlatformPeer(ctx context.Context, p Peer, v variant, dir string,
	plan *platformPlan) (platformSide, error) {
	text, err := json.Marshal(plan)
	if err != nil {
		return platformSide{}, err
	}
	return runPeerJob(ctx, v, &peerJob{peer: p, dir: dir, plan: string(text), speak: plan.Workers,
		servers: 1, main: "platforms_mxnet.py"}, platformPeers[p.Name].start)
}

// runPeerJob runs a job that start starts.
func runPeerJob(ctx context.Context, v variant, j *peerJob, start func(j *peerJob) error) (
	side platformSide, err error) {
	ctx, cancel := context.WithTimeout(ctx, platformJobTime)
	defer cancel()
	j.ctx, j.cancel, j.env, j.run = ctx, cancel, v.env, newPlatformRun()
	if j.port, err = freePorts(1 + j.speak); err != nil {
		return platformSide{}, err
	}
	err = start(j)
	if err != nil {
		cancel()
	}
	for !j.run.over(j.speak) && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	timeout := errors.Is(ctx.Err(), context.DeadlineExceeded)
	cancel() // the other processes are no longer needed
	j.wg.Wait()
	var missing error
	side, missing = j.run.finish(j.speak)
	switch {
	case j.err != nil: // comes first: it may be the reason why another process could not start
		return side, j.err
	case err != nil:
		return side, err
	case timeout:
		return side, fmt.Errorf("%s has not finished within %v", v.name, platformJobTime)
	}
	return side, missing
}

// process starts a process of the job and reads the lines of workers. A process that fails ends the
// job.
func (j *peerJob) process(name string, env []string, args ...string) error {
	cmd := exec.CommandContext(j.ctx, j.peer.Python, args...)
	cmd.Env = append(append(cmd.Environ(), j.env...), env...)
	cmd.WaitDelay = 5 * time.Second
	var said strings.Builder
	cmd.Stderr = &said
	var out io.ReadCloser
	worker := strings.HasPrefix(name, "worker")
	if worker {
		var err error
		if out, err = cmd.StdoutPipe(); err != nil {
			return err
		}
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	j.run.watch.add(name, cmd.Process.Pid)
	j.wg.Go(func() {
		if worker {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				j.run.line(lines.Text())
			}
		}
		err := cmd.Wait()
		if err == nil || !worker || j.ctx.Err() != nil {
			return
		}
		j.mu.Lock()
		if j.err == nil {
			j.err = fmt.Errorf("%s: %w: %s", name, err, lastLine(said.String()))
		}
		j.mu.Unlock()
		j.cancel()
	})
	return nil
}

func (j *peerJob) script(name string) string { return filepath.Join(j.dir, name) }

// startMXNet starts scheduler, servers and workers.
func startMXNet(j *peerJob) error {
	env := []string{"DMLC_PS_ROOT_URI=127.0.0.1", "DMLC_PS_ROOT_PORT=" + strconv.Itoa(j.port),
		"DMLC_INTERFACE=lo", "DMLC_NUM_WORKER=" + strconv.Itoa(j.speak),
		"DMLC_NUM_SERVER=" + strconv.Itoa(j.servers)}
	names := []string{"scheduler"}
	for i := range j.servers {
		names = append(names, fmt.Sprint("server ", i))
	}
	for i := range j.speak {
		names = append(names, fmt.Sprint("worker ", i))
	}
	for _, name := range names {
		role, _, _ := strings.Cut(name, " ")
		if err := j.process(name, append(env[:len(env):len(env)], "DMLC_ROLE="+role),
			j.script(j.main), j.plan); err != nil {
			return err
		}
	}
	return nil
}

// startTensorFlow starts a parameter server and workers on consecutive ports.
func startTensorFlow(j *peerJob) error {
	port := strconv.Itoa(j.port)
	if err := j.process("server 0", nil, j.script("platforms_tf.py"), j.plan, "ps", "0",
		port); err != nil {
		return err
	}
	for i := range j.speak {
		if err := j.process(fmt.Sprint("worker ", i), nil, j.script("platforms_tf.py"), j.plan,
			"worker", strconv.Itoa(i), port); err != nil {
			return err
		}
	}
	return nil
}

// startSpark starts the one program that does the work of all workers.
func startSpark(j *peerJob) error {
	j.speak = 1
	return j.process("worker 0", nil, j.script("platforms_spark.py"), j.plan)
}

// freePorts returns the first of n consecutive free ports of the loopback.
func freePorts(n int) (int, error) {
	var last error
	for range 100 {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := first.Addr().(*net.TCPAddr).Port
		list := []net.Listener{first}
		for i := 1; i < n; i++ {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+i)))
			if last = err; err != nil {
				break
			}
			list = append(list, l)
		}
		for _, l := range list {
			l.Close()
		}
		if len(list) == n {
			return port, nil
		}
	}
	return 0, fmt.Errorf("found no %d consecutive free ports: %w", n, last)
}
