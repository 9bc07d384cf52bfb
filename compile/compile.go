package compile

import (
	"fmt"
	"slices"
	"strings"

	"gomx/device"
	"gomx/dtype"
	"gomx/graph"
	"gomx/op"
)

// Source is a composed graph with the facts that inference has found.
type Source struct {
	Outputs []op.Entry
	Args    []*op.Node   // variables that are no auxiliary states, in the order of the graph
	Facts   *graph.Facts // shapes and types of all entries; Compile does not change them
}

// Options say how a graph is compiled. The zero value compiles for inference on the processor, with
// the plain kernels on one thread.
type Options struct {
	Train bool
	// NoDropout makes dropout that drops in training only pass everything on, also when training.
	NoDropout bool
	Single    bool // every operator is a segment of its own
	Device    device.Device
	Spread    *Spread // where the parts of the graph run; nil means all on Device
	// Grads are the requests of arguments whose gradient is wanted. Inference has them too: a
	// learned argument is written between runs.
	Grads map[string]op.Req
	// Precision is the type that products are computed in; float32 leaves the graph as it is.
	Precision dtype.Type
	// LossScale is the device of the factor by which gradients are scaled; nil means no scaling.
	LossScale *device.Device
	// Recompute is the share of the planned memory to come down to by computing values twice; 0
	// computes only the nodes again that ask for it.
	Recompute float64
	Streams   int      // queues of the device that branches of the graph run on; 0 and 1: one
	NoFusion  bool     // leaves out all stages that are not needed
	Without   []string // names of stages to leave out
	Verify    bool     // checks the plan of the memory with an independent verifier
	Target    Target
}

// Target describes the kernels of the machine that a program is compiled for.
type Target struct {
	Tier    device.Tier // fastest tier of kernels to use
	Threads int         // most threads of a kernel; 0 means 1
	Layouts bool        // kernels of the processor work on arrays in blocked layouts
}

// onHost reports whether everything runs on processors.
func (o *Options) onHost() bool {
	return o.Device.Kind == device.KindCPU && (o.Spread == nil || o.Spread.Host)
}

// wants reports whether the gradient of an argument is wanted.
func (o *Options) wants(name string) bool {
	r, ok := o.Grads[name]
	return ok && r != op.ReqNull
}

// variable returns the device of the array of a variable.
func (o *Options) variable(name string) device.Device {
	if o.Spread != nil {
		if d, ok := o.Spread.Vars[name]; ok {
			return d
		}
	}
	return o.Device
}

// output returns the device of the array of output i.
func (o *Options) output(i int) device.Device {
	if o.Spread != nil {
		return o.Spread.Outputs[i]
	}
	return o.Device
}

// Compile turns a graph into a program.
func Compile(src Source, o Options) (p *Program, err error) {
	defer op.Recover(&err)
	if err := CheckNames(o.Without); err != nil {
		return nil, err
	}
	u := newUnit(&src, &o)
	for _, s := range Stages() {
		if !s.runs(&o) {
			continue
		}
		if err := s.run(u, s); err != nil {
			return nil, err
		}
	}
	u.prog.Inferred = u.Facts.Inferred()
	if Invariants {
		return u.prog, u.prog.Check()
	}
	return u.prog, nil
}

// CheckNames reports a name in a list of stages to leave out that no such stage has.
func CheckNames(names []string) error {
	var all []string
	for _, s := range Passes() {
		all = append(all, s.Name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			slices.Sort(all)
			return fmt.Errorf("compile: no pass %q, want one of %s", name, strings.Join(all, ", "))
		}
	}
	return nil
}
