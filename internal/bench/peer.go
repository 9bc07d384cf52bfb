package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Peer is another system and the Python interpreter that has it.
type Peer struct {
	Name   string // mxnet, torch, tensorflow or spark
	Python string
}

// ParsePeer reads "mxnet=/path/to/python". TensorFlow may be called tf.
func ParsePeer(s string) (Peer, error) {
	name, python, ok := strings.Cut(s, "=")
	if name == "tf" {
		name = "tensorflow"
	}
	if !ok || python == "" || !slices.Contains([]string{"mxnet", "torch", "tensorflow", "spark"}, name) {
		return Peer{}, fmt.Errorf("bench: peer %q, want mxnet=PYTHON, torch=PYTHON, tensorflow=PYTHON or spark=PYTHON", s)
	}
	return Peer{name, python}, nil
}

// variant is an environment in which a peer is measured; the best counts.
type variant struct {
	name string
	env  []string
}

// alone is the only variant of a peer whose defaults are its best.
func alone(p Peer) []variant { return []variant{{p.Name, nil}} }

// byThreads are the variants of operators: MXNet takes half of the processors by default.
func byThreads(p Peer) []variant {
	if p.Name != "mxnet" {
		return alone(p)
	}
	return []variant{{"mxnet", nil}, {"mxnet omp2", []string{"OMP_NUM_THREADS=2"}}}
}

// byWorkers are the variants of MXNet's engine: it has one worker by default.
func byWorkers(p Peer) []variant {
	var list []variant
	for _, n := range []string{"1", "2"} {
		list = append(list, variant{p.Name + " workers" + n, []string{"MXNET_CPU_WORKER_NTHREADS=" + n}})
	}
	return list
}

// measure runs the script of a suite for one workload in every variant of p and returns the best figure.
func (s *Suite) measure(ctx context.Context, ps *programs, p Peer, w *Workload) (best float64, who string, err error) {
	c, err := ps.of(ctx, s.Script, p)
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w", p.Name, err)
	}
	for _, v := range s.variants(p) {
		cmd := exec.CommandContext(ctx, c.path, append(c.args[:len(c.args):len(c.args)], s.args(p, w.line())...)...)
		cmd.Env = append(append(cmd.Environ(), c.env...), v.env...)
		out, err := output(cmd)
		if err != nil {
			return 0, "", fmt.Errorf("%s: %s: %w", v.name, s.Script, err)
		}
		got, err := figure(out, w)
		if err != nil {
			return 0, "", fmt.Errorf("%s: %w", v.name, err)
		}
		if b := better(w.Unit, best, got); b != best {
			best, who = b, v.name
		}
	}
	return best, who, nil
}

// figure finds the best line of a workload in the output of a script.
func figure(out []byte, w *Workload) (best float64, err error) {
	sc := bufio.NewScanner(bytes.NewReader(out))
	for sc.Scan() {
		f := strings.Split(sc.Text(), "\t")
		if len(f) != 3 || f[0] != w.line() {
			continue
		}
		v, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return 0, fmt.Errorf("its line %q has no number: %w", sc.Text(), err)
		}
		best = better(w.Unit, best, v)
	}
	if best == 0 {
		return 0, fmt.Errorf("its output has no line %q", w.line())
	}
	return best, nil
}

// output runs a command and returns what it printed; the error of one that fails has the last line of its complaints.
func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w: %s", cmd.Path, err, lastLine(string(exit.Stderr)))
	}
	return out, err
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
