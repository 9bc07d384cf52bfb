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

// Source is a composed graph with the facts that inference has found. Compile reads it and keeps no
// reference to its lists; nodes that no stage changes are nodes of the program as well.
type Source struct {
	// Outputs are the entries that the caller wants, in the caller's order. An entry may occur
	// twice, and may be a variable.
	Outputs []op.Entry

	// Args are the variables that are no auxiliary states, in the order of the graph. Only these
	// can have gradients.
	Args []*op.Node

	// Facts are the shapes and types of all entries. Compile works on a copy.
	Facts *graph.Facts

	// Stored are the storage types of the arrays of gradients that are not dense, by the names of
	// arguments. Such a gradient is written, not added.
	Stored map[string]op.Storage

	// Values are the storage types of the arrays of variables that are not dense, by name. Operators
	// that gather rows read them; all other values are dense.
	Values map[string]op.Storage
}

// Options say how a graph is compiled. The zero value compiles for inference on the processor, with
// the plain kernels on one thread.
type Options struct {
	// Train compiles a program whose operators compute as in training and which has a backward part
	// where Grads asks for one.
	Train bool

	// Frozen makes the operators of a program with Train compute as in inference, and states stay
	// as they are: the gradients of a model that is not being trained.
	Frozen bool

	// NoDropout makes dropout that drops in training only pass everything on, also when training.
	NoDropout bool

	// Single makes every operator a segment of its own, for monitors that look at each result.
	Single bool

	// Device is the device of all nodes and arrays that Spread does not name.
	Device device.Device

	// Spread says where the parts of the graph run; nil means all on Device.
	Spread *Spread

	// Grads are the requests of arguments whose gradient is wanted, by name. Inference has them
	// too: an argument with a gradient is written between runs, so a segment begins where it is
	// read first.
	Grads map[string]op.Req

	// Precision is the type that products are computed in; float32 leaves the graph as it is.
	Precision dtype.Type

	// LossScale is the device of the factor by which gradients are scaled; nil means no scaling.
	LossScale *device.Device

	// Recompute is the share of the planned memory, from 0 to 1, to come down to by computing
	// values twice; 0 computes only the nodes again that ask for it.
	Recompute float64

	// Streams is the number of queues of the device that branches of the graph run on; 0 means 1.
	Streams int

	// NoFusion leaves out all stages that rewrite the graph by a pass, and the stage layout. It
	// serves tests, which compare the fast program with the graph as it was composed.
	NoFusion bool

	// Without has the names of passes to leave out, and of the stage layout; the error of
	// [CheckNames] lists all names.
	// Passes that are needed run nevertheless.
	Without []string

	// Verify checks the plan of the memory with an independent verifier, in every build.
	Verify bool

	Target Target
}

// Target describes the kernels of the machine that a program is compiled for. It is an option and
// not looked up, so that the same program can be compiled anywhere.
type Target struct {
	Tier    device.Tier // fastest tier of kernels to use
	Threads int         // most threads of a kernel; 0 means 1
	Layouts bool        // kernels of the processor may work on arrays in blocked layouts
	// Wide are the classes of products that compute in float32 on processors although Precision is
	// bfloat16.
	Wide device.Products

	// Runner makes programs of graphs inside operators ready to run, which is the work of an
	// executor. Nil: kernels compute these graphs node by node.
	Runner func(b *Body) *op.Body
	// Whole makes the forward and the backward part one segment each on queues, for recordings.
	Whole bool
}

// onHost reports whether everything runs on processors.
func (o *Options) onHost() bool {
	return o.Device.Kind == device.KindCPU && (o.Spread == nil || o.Spread.Host)
}

// lays reports whether kernels choose the layouts of the arrays between them: on processors where
// the target says so, and on a GPU, whose convolutions ask for channels last. A program with parts
// on a GPU and on another device stays plain.
func (o *Options) lays() bool {
	if o.Device.Kind == device.KindCUDA {
		return o.Spread == nil && !o.NoFusion
	}
	return o.Target.Layouts && o.onHost() && !o.NoFusion
}

// wants reports whether the gradient of an argument is wanted. A request of op.ReqNull is the same as
// none.
func (o *Options) wants(name string) bool {
	r, ok := o.Grads[name]
	return ok && r != op.ReqNull
}

// variable returns the device of the array of a variable; variables that Spread does not name lie on
// Device.
func (o *Options) variable(name string) device.Device {
	if o.Spread != nil {
		if d, ok := o.Spread.Vars[name]; ok {
			return d
		}
	}
	return o.Device
}

// output returns the device of the array of output number i.
func (o *Options) output(i int) device.Device {
	if o.Spread != nil {
		return o.Spread.Outputs[i]
	}
	return o.Device
}

// Compile turns a graph into a program. The same source and options give the same program.
//
// It answers an error for a name in Without that no pass has, for shapes that stay unknown, for an
// operator without a kernel on its device, and for a gradient that an operator does not have;
// errors of operators name the node and the line that composed it. Stages panic with *op.Error
// where a pass makes a node of wrong parameters; Compile returns that as an error too.
func Compile(src Source, o Options) (p *Program, err error) {
	defer op.Recover(&err)
	if err := CheckNames(o.Without); err != nil {
		return nil, err
	}
	u := newUnit(&src, &o)
	for _, s := range stages() {
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

// CheckNames reports a name in a list of passes to leave out that no pass has, and lists all names.
// Of the stages that are no passes layout alone can be left out: names of others are errors too.
func CheckNames(names []string) error {
	var all []string
	for _, s := range stages() {
		if s.Pass || s.Optional {
			all = append(all, s.Name)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			slices.Sort(all)
			return fmt.Errorf("compile: no pass %q, want one of %s", name, strings.Join(all, ", "))
		}
	}
	return nil
}
