package compile

import (
	"slices"

	"gomx/device"
	"gomx/graph"
	"gomx/memplan"
	"gomx/op"
)

// Program is a graph compiled for one mode: its nodes in order, prepared, placed in memory, and
// divided into segments. It is immutable and may be run by any number of executors at once.
type Program struct {
	Train bool
	Graph *graph.Indexed // the graph that runs
	Descs []op.Desc      // by entry: shape and type, as a plain array

	Slots   []Slot
	Outside map[int]int    // slots of the entries that live outside of the arena
	Outputs []int          // slots of the outputs
	Vars    map[string]int // slots of variables by name

	Steps    []Step
	Segments []Segment
	Derived  int   // segments at the beginning that make kept forms of parameters
	Forward  int   // segments before the backward part
	Mutated  []int // slots that the forward part changes: auxiliary states

	Memory Memory
	Report
}

// Report is the record of the passes and inferences of one compilation.
type Report struct {
	Composed int       // operators of the composed graph
	Applied  []Applied // reports of the passes, in the order in which they ran
	Inferred int       // inferences over the whole graph, before and while it was compiled
}

// Memory is the plan of the memory of a program.
type Memory struct {
	Store    *graph.Storage // entries that share bytes
	Plan     *memplan.Plan
	Buffers  []memplan.Buffer // the planned buffers: values, then scratch memory
	BufferOf map[int]int      // buffers by root entry
	Rooms    []Room           // parts of the plan, one for each device
	Separate bool             // every device has a part of the plan for itself
	Outputs  int64            // bytes of the output arrays
	Kept     int64            // bytes of the kept forms of parameters
	Trade    graph.Trade      // values that are computed twice for the sake of memory
}

// Room is the part of the plan that lies on one device.
type Room struct {
	Device device.Device
	From   int64 // offset of the part in the plan, in bytes
	Bytes  int64
}

// SlotKind says which array a slot stands for.
type SlotKind uint8

// The kinds of slots.
const (
	SlotVariable SlotKind = iota // argument or auxiliary state Arg
	SlotOutput                   // output number Index
	SlotGradient                 // gradient of argument Arg
	SlotHead                     // gradient that flows into output number Index
	SlotFactor                   // factor by which gradients are scaled
	SlotInverse                  // inverse of the factor
	SlotKept                     // kept form of parameters
)

// Slot is the place of an array outside of the arena.
type Slot struct {
	Name    string
	Kind    SlotKind
	Arg     string
	Index   int
	Desc    op.Desc
	Device  device.Device
	Learned bool // it is written outside of the program between runs: an argument with a gradient
	Sink    bool // the program overwrites it without looking at its content
}

// Step is one node ready to run.
type Step struct {
	Node     *op.Node
	Index    int // number of the node
	Kernel   *op.Prepared
	Call     op.Call // operands without addresses; runs copy it
	Dead     bool    // no step reads more than the shapes of its outputs
	Skip     bool    // dead, or it only renames memory
	Form     *Form   // for a step whose outputs are kept between runs
	Internal []Operand
	External []Operand
	Scratch  int64  // offset of the scratch memory in the room, in bytes; -1 without
	Room     int    // room of the results and of the scratch memory
	Stream   uint64 // stream of random numbers
}

// Form describes results of a step that are kept between runs: variables in another type or layout.
// The step runs again only after one of the variables has been written.
type Form struct {
	Key     string // equal for equal operators and parameters
	Inputs  []int  // slots of the variables
	Outputs []int  // slots of the results
}

// Operand is a tensor of a call whose address a run fills in: it lies in the array of a slot, or at
// an offset in a room.
type Operand struct {
	Out    bool // output number Index, else input number Index
	Index  int
	Slot   int
	Offset int64
	Room   int
}

// Of returns the tensor of a call that o is about.
func (o *Operand) Of(c *op.Call) *op.Tensor {
	if o.Out {
		return &c.Out[o.Index]
	}
	return &c.In[o.Index]
}

// Segment is a row of steps that an engine runs as one operation.
type Segment struct {
	From, To int // steps
	Name     string
	Lane     Lane
	Threads  int   // most threads of a kernel
	Wide     bool  // it goes to the worker of kernels with several threads
	Needs    []int // earlier segments whose results it reads, or whose bytes it overwrites
	Uses     []Use
}

// Lane is a queue of a device.
type Lane struct {
	Device device.Device
	Queue  device.QueueKind
}

// Queued reports whether the kernels of a lane put their work on a queue of its device.
func (l Lane) Queued() bool {
	return l.Queue != device.QueueIn && l.Queue != device.QueueOut &&
		l.Device.Kind != device.KindCPU && device.HasQueues(l.Device.Kind)
}

// Access says how a segment uses the content of an array.
type Access uint8

// The accesses.
const (
	Read      Access = iota // looks at the content
	Overwrite               // replaces the content without looking at it
	Update                  // changes a part of the content, or reads it first
)

// Use is the access of a segment to the array of a slot.
type Use struct {
	Slot   int
	Access Access
}

// DerivesFrom reports whether some kept form of parameters is made of a variable.
func (p *Program) DerivesFrom(name string) bool {
	slot, ok := p.Vars[name]
	if !ok {
		return false
	}
	for i := range p.Steps {
		if f := p.Steps[i].Form; f != nil && slices.Contains(f.Inputs, slot) {
			return true
		}
	}
	return false
}

// HasBackward reports whether the program has a backward part.
func (p *Program) HasBackward() bool { return len(p.Segments) > p.Forward }
