package slurm

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// Config describes a run of srun.
type Config struct {
	Workers int
	Program []string // program and its arguments
	Hosts   []string // names of nodes; empty: Slurm decides
	Args    []string // more arguments of srun
	Srun    string   // the command; empty: srun
}

// Command returns the command that starts the workers. srun passes its own environment on, so that
// no value is on its command line. When a task fails, Slurm ends the others.
func (c Config) Command(variables []string) (*exec.Cmd, error) {
	name := c.Srun
	if name == "" {
		name = "srun"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("slurm: %w: install it with apt-get install slurm-client", err)
	}
	args := []string{"-n", strconv.Itoa(c.Workers), "--label", "--kill-on-bad-exit=1",
		"--export=ALL"}
	if len(c.Hosts) > 0 {
		args = append(args, "--nodelist="+strings.Join(c.Hosts, ","))
	}
	args = append(append(args, c.Args...), c.Program...)
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), variables...)
	return cmd, nil
}

// tag is the beginning of a line of a task with --label.
var tag = regexp.MustCompile(`^ *(\d+): `)

// Tag splits a line of srun into the rank and the text.
func Tag(line string) (rank int, text string, ok bool) {
	m := tag.FindStringSubmatch(line)
	if m == nil {
		return 0, "", false
	}
	rank, err := strconv.Atoi(m[1])
	return rank, line[len(m[0]):], err == nil
}
