package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Peer is another system, with the Python interpreter that has it installed.
type Peer struct {
	Name   string // mxnet, torch, tensorflow, spark, openvino or ort, ONNX Runtime
	Python string
}

// ParsePeer reads "mxnet=/path/to/python". TensorFlow may be called tf.
func ParsePeer(s string) (Peer, error) {
	name, python, ok := strings.Cut(s, "=")
	if name == "tf" {
		name = "tensorflow"
	}
	if !ok || python == "" || !slices.Contains([]string{"mxnet", "torch", "tensorflow", "spark",
		"ort", "openvino"}, name) {
		return Peer{}, fmt.Errorf("bench: peer %q, want mxnet=PYTHON, torch=PYTHON, "+
			"tensorflow=PYTHON, spark=PYTHON, ort=PYTHON or openvino=PYTHON", s)
	}
	return Peer{name, python}, nil
}

// variant is an environment in which a peer is measured; the best variant counts.
type variant struct {
	name string
	env  []string
}

// alone returns the single variant of a peer whose default settings are its best.
func alone(p Peer) []variant { return []variant{{p.Name, nil}} }

// byThreads returns the variants of operators: by default MXNet uses half of the processors.
func byThreads(p Peer) []variant {
	if p.Name != "mxnet" {
		return alone(p)
	}
	return []variant{{"mxnet", nil}, {"mxnet omp2", []string{"OMP_NUM_THREADS=2"}}}
}

// oneOrTwoThreads returns the variants of lines that are measured in processor time, where a second
// thread costs time.
func oneOrTwoThreads(p Peer) []variant {
	if p.Name != "mxnet" {
		return alone(p)
	}
	return []variant{{"mxnet omp1", []string{"OMP_NUM_THREADS=1"}},
		{"mxnet omp2", []string{"OMP_NUM_THREADS=2"}}}
}

// byWorkers returns the variants of MXNet's engine, which has one worker by default.
func byWorkers(p Peer) []variant {
	var list []variant
	for _, n := range []string{"1", "2"} {
		list = append(list, variant{p.Name + " workers" + n, []string{"MXNET_CPU_WORKER_NTHREADS=" +
			n}})
	}
	return list
}

// measured is the result of one side for a workload. Figures are above zero.
type measured struct {
	speed  float64
	who    string  // variant with the best speed
	memory float64 // least peak in MiB; 0: not measured
}

// measure runs the script of a suite for one workload in every variant of p and returns the best
// figures.
func (s *Suite) measure(ctx context.Context, ps *programs, p Peer, w *Workload) (best measured,
	err error) {
	if s.sessions {
		return s.ask(ctx, ps, p, w)
	}
	script := cmp.Or(w.script, s.Script)
	c, err := ps.of(ctx, script, p)
	if err != nil {
		return best, fmt.Errorf("%s: %w", p.Name, err)
	}
	for _, v := range s.variants(p) {
		cmd := exec.CommandContext(ctx, c.path, append(c.args[:len(c.args):len(c.args)],
			s.args(p, w.line())...)...)
		cmd.Env = append(append(cmd.Environ(), c.env...), v.env...)
		out, err := output(cmd)
		if err != nil {
			return best, fmt.Errorf("%s: %s: %w", v.name, script, err)
		}
		got, ok, err := figure(out, w.line(), w.Unit)
		if err == nil && !ok {
			err = fmt.Errorf("found no line %q in its output", w.line())
		}
		if err != nil {
			return best, fmt.Errorf("%s: %w", v.name, err)
		}
		if b := better(w.Unit, best.speed, got); b != best.speed {
			best.speed, best.who = b, v.name
		}
		peak, _, err := figure(out, memoryLine(w.line()), memoryUnit)
		if err != nil {
			return best, fmt.Errorf("%s: %w", v.name, err)
		}
		best.memory = better(memoryUnit, best.memory, peak)
	}
	return best, nil
}

// ask lets the sessions of a peer measure one workload and returns the best figure.
func (s *Suite) ask(ctx context.Context, ps *programs, p Peer, w *Workload) (best measured,
	err error) {
	for _, v := range s.variants(p) {
		session, err := ps.session(ctx, s.Script, p, v)
		if err != nil {
			return best, fmt.Errorf("%s: %w", v.name, err)
		}
		got, err := session.ask(ctx, w.line())
		if err != nil {
			return best, fmt.Errorf("%s: %s: %w", v.name, s.Script, err)
		}
		if b := better(w.Unit, best.speed, got); b != best.speed {
			best.speed, best.who = b, v.name
		}
	}
	return best, nil
}

// figure returns the best figure of the lines of a name in the output of a script.
func figure(out []byte, line, unit string) (best float64, ok bool, err error) {
	sc := bufio.NewScanner(bytes.NewReader(out))
	for sc.Scan() {
		f := strings.Split(sc.Text(), "\t")
		if len(f) != 3 || f[0] != line {
			continue
		}
		v, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return 0, false, fmt.Errorf("its line %q: want a number: %w", sc.Text(), err)
		}
		best, ok = better(unit, best, v), true
	}
	return best, ok, nil
}

// output runs a command and returns its standard output. The error of a failed command includes the
// last line of its standard error.
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
