package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// kvPlan describes the processes of one measurement. Workers push and pull an array of Floats
// numbers, fused in one message per slice, Rounds times in each of Repeats repetitions, through a
// store with one server for each replica.
type kvPlan struct {
	Floats, Workers int
	Rounds, Repeats int
	Replicas        int
	Servers         int      // number of servers; 0: one for each replica
	Ring            bool     // without servers: the store allreduce
	Raw             bool     // measure only the transport and a server that sums, without a store
	Slice           int      // bytes per slice
	Window          int      // number of slices that a worker has in flight, if Raw
	Via             string   // tcp, curve, sealed, ipc or shm
	Dir             string   // folder for files of this measurement
	Keys            []string // public and secret keys of all processes, for curve and sealed
}

// servers is the number of servers.
func (p *kvPlan) servers() int {
	if p.Ring {
		return 0
	}
	return max(1, p.Replicas, p.Servers)
}

// kvFigures are the figures of the best repetition.
type kvFigures struct {
	Seconds  float64 // per round
	CPU      float64 // processor seconds per round, of all processes
	Switches float64 // context switches per round, of all processes
}

// kvCases are the measured arrays, with the names of peers/kv.py.
var kvCases = []struct {
	name                    string
	floats, workers, rounds int
	// switches adds a line with context switches: waking threads is the main cost of small
	// messages.
	switches bool
}{
	{"kv.4KB", 1000, 1, 3000, true},
	{"kv.31KB.w3", 7850, 3, 1500, true},
	{"kv.1MB", 250_000, 1, 300, false},
	{"kv.1MB.w3", 250_000, 3, 150, false},
	{"kv.100MB", 25_000_000, 1, 8, false},
}

// kvWays are the ways to measure each case, with the suffix of the line's name.
var kvWays = []struct {
	name, via string
	replicas  int
	raw       bool
}{
	{"tcp", "tcp", 1, false}, {"shm", "shm", 1, false}, {"ipc", "ipc", 1, false},
	{"curve", "curve", 1, false}, {"sealed", "sealed", 1, false}, {"tcp.r2", "tcp", 2, false},
	{"shm.r2", "shm", 2, false}, {"curve.r2", "curve", 2, false}, {"tcp.raw", "tcp", 1, true},
	{"shm.raw", "shm", 1, true},
}

// kv measures the round trips of the parameter server, like peers/kv.py in MXNet, where push and
// pull are two messages.
func kv() ([]Workload, error) {
	list := cipherRates()
	for _, c := range kvCases {
		for _, way := range kvWays {
			plan := kvPlan{Floats: c.floats, Workers: c.workers, Rounds: c.rounds, Repeats: 3,
				Slice: 1 << 20, Window: 4,
				Via: way.via, Replicas: way.replicas, Raw: way.raw}
			name := c.name + "." + way.name
			list = append(list, Workload{Name: name, Unit: "us", Line: c.name, peer: "mxnet",
				Run: func(ctx context.Context) (float64, error) {
					f, err := plan.measure(ctx)
					return f.Seconds * 1e6, err
				}},
				Workload{Name: name + ".cpu", Unit: "s/GiB", Line: c.name + ".cpu", peer: "mxnet",
					Run: func(ctx context.Context) (float64, error) {
						f, err := plan.measure(ctx)
						return f.CPU / (float64(plan.Floats) * 4 / (1 << 30)), err
					}})
			if c.switches {
				list = append(list, Workload{Name: name + ".switches", Unit: "switches/round",
					Line: c.name + ".switches", peer: "mxnet",
					Run: func(ctx context.Context) (float64, error) {
						f, err := plan.measure(ctx)
						return f.Switches, err
					}})
			}
		}
	}
	return append(list, kvCollectives()...), nil
}

// kvCollectives compares, with three workers, the store without servers with two servers, and both
// with torch's gloo (peers/allreduce.py), which has TCP only.
func kvCollectives() (list []Workload) {
	for _, c := range []struct {
		name           string
		floats, rounds int
	}{{"4KB", 1000, 2000}, {"1MB", 250_000, 200}, {"100MB", 25_000_000, 6}} {
		for _, via := range []string{"tcp", "shm"} {
			for _, store := range []struct {
				name string
				ring bool
			}{{"allreduce", true}, {"servers2", false}} {
				plan := kvPlan{Floats: c.floats, Workers: 3, Rounds: c.rounds, Repeats: 3,
					Slice: 1 << 20, Via: via, Servers: 2, Ring: store.ring}
				list = append(list, Workload{Name: "kv." + c.name + ".w3." + store.name + "." + via,
					Unit: "us", Line: "allreduce." + c.name, peer: "torch", script: "allreduce.py",
					Run: func(ctx context.Context) (float64, error) {
						f, err := plan.measure(ctx)
						return f.Seconds * 1e6, err
					}})
			}
		}
	}
	return list
}

// measure runs the processes of a plan.
func (p kvPlan) measure(ctx context.Context) (kvFigures, error) {
	dir, err := os.MkdirTemp("", "gomx-kv")
	if err != nil {
		return kvFigures{}, err
	}
	defer os.RemoveAll(dir)
	p.Dir = dir
	if err := p.makeKeys(); err != nil {
		return kvFigures{}, err
	}
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	all := []*kvProcess{}
	defer func() {
		// End workers first: they log off at the servers, and servers at the scheduler.
		for i := len(all) - 1; i >= 0; i-- {
			all[i].end()
		}
	}()
	addr := ""
	start := func(role string, rank int) error {
		k, err := p.start(ctx, role, rank, addr)
		if err != nil {
			return err
		}
		all = append(all, k)
		if role != "worker" {
			return k.read("address", &addr)
		}
		return nil
	}
	if !p.Raw {
		if err := start("scheduler", 0); err != nil {
			return kvFigures{}, err
		}
	}
	for i := range p.servers() {
		if err := start("server", i); err != nil {
			return kvFigures{}, err
		}
	}
	servers := len(all)
	for i := range p.Workers {
		if err := start("worker", i); err != nil {
			return kvFigures{}, err
		}
	}
	if err := p.notePids(all); err != nil {
		return kvFigures{}, err
	}
	return collect(all[servers:])
}

// collect reads the figures of the workers. Rounds end together, so the first worker's time holds
// for all.
func collect(workers []*kvProcess) (f kvFigures, err error) {
	for i, w := range workers {
		var list []kvFigures
		if err := w.read("figures", &list); err != nil {
			return f, err
		}
		for j, g := range list {
			if i > 0 {
				break
			}
			if j == 0 || g.Seconds < f.Seconds {
				f.Seconds = g.Seconds
			}
			if j == 0 || g.CPU < f.CPU {
				f.CPU = g.CPU
			}
			if j == 0 || g.Switches < f.Switches {
				f.Switches = g.Switches
			}
		}
	}
	return f, nil
}

// kvProcess is a process of a measurement.
type kvProcess struct {
	name string
	cmd  *exec.Cmd
	in   io.Closer
	out  *json.Decoder
	said *strings.Builder
}

// start runs this program again, by its hidden command NodeCommand, in a role of the measurement.
func (p *kvPlan) start(ctx context.Context, role string, rank int, addr string) (*kvProcess,
	error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	plan, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, NodeCommand, role, strconv.Itoa(rank), addr)
	k := &kvProcess{name: role + " " + strconv.Itoa(rank), cmd: cmd, said: new(strings.Builder)}
	cmd.Stderr = k.said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	k.in = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	k.out = json.NewDecoder(stdout)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// The plan holds secret keys, which the list of processes would show.
	if _, err := stdin.Write(append(plan, '\n')); err != nil {
		return nil, fmt.Errorf("%s: %w", k.name, err)
	}
	return k, nil
}

// read decodes the next value that the process prints. what names the value in errors.
func (k *kvProcess) read(what string, v any) error {
	if err := k.out.Decode(v); err != nil {
		k.cmd.Wait()
		return fmt.Errorf("%s: %s: %w: %s", k.name, what, err, lastLine(k.said.String()))
	}
	return nil
}

// end closes the input of a process, which then ends.
func (k *kvProcess) end() {
	k.in.Close()
	k.cmd.Wait()
}
