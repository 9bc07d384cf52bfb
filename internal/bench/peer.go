package bench

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

//go:embed peers
var scripts embed.FS

// Peer is another system and the Python interpreter that has it.
type Peer struct {
	Name   string // mxnet or torch
	Python string
}

// ParsePeer reads "mxnet=/path/to/python".
func ParsePeer(s string) (Peer, error) {
	name, python, ok := strings.Cut(s, "=")
	if !ok || python == "" || name != "mxnet" && name != "torch" {
		return Peer{}, fmt.Errorf("bench: peer %q, want mxnet=PYTHON or torch=PYTHON", s)
	}
	return Peer{name, python}, nil
}

// variants are the environments in which a peer is measured; the best counts.
func (p Peer) variants() map[string][]string {
	if p.Name == "mxnet" {
		return map[string][]string{"mxnet": nil, "mxnet omp2": {"OMP_NUM_THREADS=2"}}
	}
	return map[string][]string{p.Name: nil}
}

// measure runs the peer's script for one workload in every variant and returns the best figure.
func (p Peer) measure(ctx context.Context, script string, w *Workload) (best float64, variant string, err error) {
	for name, env := range p.variants() {
		v, err := p.run(ctx, script, w, env)
		if err != nil {
			return 0, "", fmt.Errorf("%s: %w", name, err)
		}
		if b := better(w.Unit, best, v); b != best {
			best, variant = b, name
		}
	}
	return best, variant, nil
}

// run executes the script once and returns the figure of the workload.
func (p Peer) run(ctx context.Context, script string, w *Workload, env []string) (float64, error) {
	dir, err := os.MkdirTemp("", "gomx-bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	text, err := scripts.ReadFile("peers/" + script)
	if err != nil {
		return 0, err
	}
	path := filepath.Join(dir, script)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return 0, err
	}
	arg := "^" + regexp.QuoteMeta(w.Name) + "$"
	if script == "imperative.py" {
		arg = p.Name
	}
	cmd := exec.CommandContext(ctx, p.Python, path, arg)
	cmd.Env = append(cmd.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w: %s", p.Python, script, err, lastLine(stderr.String()))
	}
	return figure(out, w.Name)
}

// figure finds the line of a workload in the output of a script.
func figure(out []byte, name string) (float64, error) {
	sc := bufio.NewScanner(bytes.NewReader(out))
	for sc.Scan() {
		f := strings.Split(sc.Text(), "\t")
		if len(f) == 3 && f[0] == name {
			return strconv.ParseFloat(f[1], 64)
		}
	}
	return 0, fmt.Errorf("its output has no line %q", name)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
