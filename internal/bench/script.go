package bench

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed peers
var scripts embed.FS

// command is a program with its arguments.
type command struct {
	path string
	args []string
	env  []string
}

// programs holds the scripts of one run of a suite in a folder, prepared once for each peer, and
// the sessions.
type programs struct {
	dir      string
	ready    map[string]command
	sessions map[string]*session // keyed by script, interpreter and variant
}

func newPrograms() (*programs, error) {
	dir, err := os.MkdirTemp("", "gomx-bench")
	if err != nil {
		return nil, err
	}
	return &programs{dir, map[string]command{}, map[string]*session{}}, nil
}

func (ps *programs) close() {
	ps.endSessions()
	os.RemoveAll(ps.dir)
}

// session returns the process that measures lines with a script in a variant of a peer.
func (ps *programs) session(ctx context.Context, script string, p Peer, v variant) (*session,
	error) {
	key := strings.Join([]string{script, p.Python, v.name}, " ")
	if s, ok := ps.sessions[key]; ok {
		return s, nil
	}
	c, err := ps.of(ctx, script, p)
	if err != nil {
		return nil, err
	}
	s, err := startSession(c, v.env)
	if err != nil {
		return nil, err
	}
	ps.sessions[key] = s
	return s, nil
}

// endSessions ends the sessions; the next line starts new ones.
func (ps *programs) endSessions() {
	for key, s := range ps.sessions {
		s.close()
		delete(ps.sessions, key)
	}
}

// of returns the command that runs a script in a peer.
func (ps *programs) of(ctx context.Context, script string, p Peer) (command, error) {
	key := script + " " + p.Python
	if c, ok := ps.ready[key]; ok {
		return c, nil
	}
	text, err := scripts.ReadFile("peers/" + script)
	if err != nil {
		return command{}, err
	}
	dir, err := os.MkdirTemp(ps.dir, p.Name)
	if err != nil {
		return command{}, err
	}
	path := filepath.Join(dir, script)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return command{}, err
	}
	c := command{path: p.Python, args: []string{path}}
	if filepath.Ext(script) == ".c" {
		if c, err = mxnetProgram(ctx, path, p); err != nil {
			return command{}, err
		}
	}
	ps.ready[key] = c
	return c, nil
}

// mxnetProgram compiles a C program against the library in the mxnet package of the peer's Python.
func mxnetProgram(ctx context.Context, path string, p Peer) (command, error) {
	if p.Name != "mxnet" {
		return command{}, fmt.Errorf("%s: want peer mxnet", filepath.Base(path))
	}
	out, err := output(exec.CommandContext(ctx, p.Python, "-c",
		"import mxnet, os; print(os.path.dirname(mxnet.__file__))"))
	if err != nil {
		return command{}, fmt.Errorf("package mxnet: %w", err)
	}
	dir := lastLine(string(out))
	binary := strings.TrimSuffix(path, filepath.Ext(path))
	gcc := exec.CommandContext(ctx, "gcc", "-O2", path, filepath.Join(dir, "libmxnet.so"),
		"-Wl,-rpath,"+dir, "-o", binary)
	if _, err := output(gcc); err != nil {
		return command{}, fmt.Errorf("compiling against libmxnet.so: %w", err)
	}
	return command{path: binary, env: []string{"LD_LIBRARY_PATH=" + dir}}, nil
}

// Arguments of scripts that select one line, with or without the name of the peer.
func peerAndLine(p Peer, line string) []string { return []string{p.Name, exactly(line)} }
func onlyLine(_ Peer, line string) []string    { return []string{exactly(line)} }
func everything(Peer, string) []string         { return nil }

func exactly(line string) string { return "^" + regexp.QuoteMeta(line) + "$" }
