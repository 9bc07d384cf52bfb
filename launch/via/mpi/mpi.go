package mpi

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// Config describes a run of mpirun.
type Config struct {
	Workers int
	Program []string // program and its arguments
	Hosts   []string // hosts with their numbers of slots, such as node1:4; empty: mpirun decides
	Args    []string // more arguments of mpirun
	Mpirun  string   // the command; empty: mpirun
}

// Command returns the command that starts the workers. The processes have the variables, which
// mpirun takes from its own environment, so that no value is on its command line.
func (c Config) Command(variables []string) (*exec.Cmd, error) {
	name := c.Mpirun
	if name == "" {
		name = "mpirun"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("mpi: %w: install it with apt-get install openmpi-bin", err)
	}
	args := []string{"-n", strconv.Itoa(c.Workers), "--tag-output"}
	if len(c.Hosts) > 0 {
		args = append(args, "--host", strings.Join(c.Hosts, ","))
	}
	for _, v := range variables {
		name, _, _ := strings.Cut(v, "=")
		args = append(args, "-x", name)
	}
	args = append(append(args, c.Args...), c.Program...)
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), variables...)
	return cmd, nil
}

// tag is the beginning of a line of a rank with --tag-output.
var tag = regexp.MustCompile(`^\[\d+,(\d+)\]<(?:stdout|stderr|stddiag)>: ?`)

// Tag splits a line of mpirun into the rank and the text.
func Tag(line string) (rank int, text string, ok bool) {
	m := tag.FindStringSubmatch(line)
	if m == nil {
		return 0, "", false
	}
	rank, err := strconv.Atoi(m[1])
	return rank, line[len(m[0]):], err == nil
}
