package measure

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"gomx/device"
	"gomx/dtype"
	"gomx/engine"
	"gomx/kvstore"
	"gomx/kvstore/transport/zmq"
	"gomx/launch"
	sym "gomx/symbol"
)

// NodeCommand is the hidden command of gomx that runs RunNode.
const NodeCommand = "plan-node"

// task is the work of one process of a measurement.
type task struct {
	Kind    taskKind `json:"kind"`
	Network network  `json:"network,omitzero"`
	Threads int      `json:"threads,omitempty"` // most threads of a kernel, of taskCompute
	Store   string   `json:"store,omitempty"`
	Warm    int      `json:"warm,omitempty"`  // steps before those that are measured
	Steps   int      `json:"steps,omitempty"` // measured steps; 0: as many as Seconds has
	Seconds float64  `json:"seconds,omitempty"`
	Profile int      `json:"profile,omitempty"` // steps whose segments are timed
	Phases  []phase  `json:"phases,omitempty"`  // of taskStore
	Bytes   int64    `json:"bytes,omitempty"`   // of the keys of taskMemory
	Dir     string   `json:"dir,omitempty"`     // folder for files of this measurement
}

// network is a network that a process trains.
type network struct {
	Symbol string                 `json:"symbol"` // file
	Shapes map[string]dtype.Shape `json:"shapes"`
}

// taskKind says which measurement a process belongs to.
type taskKind string

const (
	taskCompute taskKind = "compute" // a network alone
	taskStore   taskKind = "store"   // messages of a store
	taskMemory  taskKind = "memory"  // memory of a store
	taskTrain   taskKind = "train"   // a real job
)

// RunNode runs a process of a measurement, with the role that its environment gives. The text is
// the task as JSON.
func RunNode(ctx context.Context, text string, in io.Reader, out io.Writer) error {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return fmt.Errorf("measure: task %q: %w", text, err)
	}
	p := &process{task: &t, in: bufio.NewReader(in), out: json.NewEncoder(out)}
	if t.Kind == taskCompute {
		return p.compute(ctx)
	}
	return launch.Run(ctx, func(ctx context.Context) error {
		if p.job = kvstore.JobOf(ctx); p.job == nil {
			return errors.New("measure: found no job in the environment, want a process that " +
				"gomx plan has started")
		}
		switch t.Kind {
		case taskStore:
			return p.store(ctx)
		case taskMemory:
			return p.memory(ctx)
		}
		return p.train(ctx)
	})
}

// process is a process of a measurement.
type process struct {
	*task
	in  *bufio.Reader
	out *json.Encoder
	job *kvstore.Job // nil for a network alone
}

// compute trains the network without other processes.
func (p *process) compute(ctx context.Context) error {
	cores := runtime.GOMAXPROCS(max(1, p.Threads))
	device.Cores() // reads the number of cores before the limit is taken away
	runtime.GOMAXPROCS(cores)
	eng, err := engine.New(engine.Config{Workers: max(1, p.Threads)})
	if err != nil {
		return err
	}
	engine.SetDefault(eng)
	zmq.KeepPages() // as in the workers of jobs
	r := &computeRun{process: p, engine: eng}
	return r.run(ctx)
}

// load reads the symbol.
func (n *network) load() (*sym.Symbol, error) {
	data, err := os.ReadFile(n.Symbol)
	if err != nil {
		return nil, err
	}
	s, err := sym.Load(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Symbol, err)
	}
	return s, nil
}
