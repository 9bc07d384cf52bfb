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
//
// Entries, nodes, slots, steps, segments and rooms refer to each other by position in their lists;
// nothing refers to an array, an executor or the unit that made the program. Package doc lists the
// invariants, and [Program.Check] verifies them.
type Program struct {
	Train bool
	Graph *graph.Indexed // the graph that runs, numbered; forward nodes come first
	Descs []op.Desc      // by entry: shape and type, as a plain array

	Slots   []Slot
	Outside map[int]int    // slots of the entries that live outside of the arena, by entry
	Outputs []int          // slots of the outputs, in the order of the source
	Vars    map[string]int // slots of variables by name

	// Steps has one step for each operator, in the order of the graph. Segments cover them.
	Steps    []Step
	Segments []Segment

	// Derived is the number of segments at the beginning that make kept forms of parameters. A run
	// pushes them only where a parameter has been written since.
	Derived int

	// Forward is the number of segments before the backward part, Derived included.
	Forward int

	// Mutated has the slots that the program changes in place: auxiliary states. A slot that
	// several steps change is listed several times.
	Mutated []int

	Memory Memory
	Report
}

// Report is the record of the passes and inferences of one compilation.
type Report struct {
	Composed int       // operators of the composed graph, before any stage
	Applied  []Applied // reports of the passes, in the order in which they ran
	Inferred int       // inferences over the whole graph, before and while it was compiled
}

// Memory is the plan of the memory of a program. Sizes and offsets are in bytes.
type Memory struct {
	Store *graph.Storage // entries that share bytes, by entry number

	// Plan has an offset for each of Buffers. Values come first, then scratch memory. The lane of
	// a buffer is the number of its room.
	Plan    *memplan.Plan
	Buffers []memplan.Buffer

	BufferOf map[int]int // positions in Buffers, by root entry
	Rooms    []Room      // parts of the plan, one for each device
	Separate bool        // every device has a part of the plan for itself
	Outputs  int64       // bytes of the output arrays
	Kept     int64       // bytes of the kept forms of parameters
	Trade    graph.Trade // values that are computed twice for the sake of memory
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

// Slot is the place of an array outside of the arena. The executor owns the array; it has the
// shape, type and device that the slot says.
type Slot struct {
	Name   string        // for texts and errors
	Kind   SlotKind      // which array it is; Arg or Index say which one of the kind
	Arg    string        // argument or auxiliary state, for variables and gradients
	Index  int           // output number, for outputs and head gradients
	Desc   op.Desc       // a plain array, but for kept forms
	Device device.Device // where the array lies

	// Learned says that the array is written outside of the program between runs: an argument with
	// a gradient. A segment begins where it is read first.
	Learned bool

	// Sink says that the program overwrites the array without looking at its content.
	Sink bool
}

// Step is one node ready to run.
type Step struct {
	Node   *op.Node
	Index  int          // number of the node in Graph
	Kernel *op.Prepared // prepared for the operands of Call

	// Call has the operands without addresses. Runs copy it and fill in addresses.
	Call op.Call

	Dead bool  // no step reads more than the shapes of its outputs
	Skip bool  // dead, or it only renames memory: a run passes over it
	Form *Form // for a step whose outputs are kept between runs, else nil

	// Internal operands lie in rooms, External ones in slots. A step that is skipped has neither,
	// and a tensor of which only the shape is read has no place.
	Internal []Operand
	External []Operand

	Scratch int64  // offset of the scratch memory in the room, in bytes; -1 without
	Room    int    // room of the results and of the scratch memory
	Stream  uint64 // stream of random numbers; 0 for nodes that draw none
}

// Form describes results of a step that are kept between runs: variables in another type or layout.
// The step runs again only after one of the variables has been written.
type Form struct {
	Key     string // equal for equal operators and parameters
	Inputs  []int  // slots of the variables, in the order of the node's inputs
	Outputs []int  // slots of the results, in the order of the node's outputs
}

// Operand is a tensor of a call whose address a run fills in: it lies in the array of a slot, or at
// an offset in a room.
type Operand struct {
	Out    bool  // output number Index, else input number Index
	Index  int   // position in Call.Out or Call.In
	Slot   int   // for external operands
	Offset int64 // in the room, in bytes, for internal operands
	Room   int   // for internal operands
}

// Of returns the tensor of a call that o is about.
func (o *Operand) Of(c *op.Call) *op.Tensor {
	if o.Out {
		return &c.Out[o.Index]
	}
	return &c.In[o.Index]
}

// Segment is a row of steps that an engine runs as one operation. Its steps run one after the
// other, so there is no order to keep between them.
type Segment struct {
	From, To int    // steps from From up to but without To
	Name     string // first and last node
	Lane     Lane   // queue of all its steps
	Threads  int    // most threads of a kernel
	Wide     bool   // it goes to the worker of kernels with several threads

	// Needs has the earlier segments whose results it reads, or whose bytes it overwrites, sorted.
	Needs []int

	// Uses has one access for each slot that the segment works on.
	Uses []Use
}

// Lane is a queue of a device. Lanes are compared by value; the lane of a processor has no queue in
// the device, and its segments go to the workers of the engine.
type Lane struct {
	Device device.Device
	Queue  device.QueueKind
}

// Queued reports whether the kernels of a lane put their work on a queue of its device.
func (l Lane) Queued() bool {
	return l.Queue != device.QueueIn && l.Queue != device.QueueOut && device.HasQueues(l.Device.Kind)
}

// Access says how a segment uses the content of an array. The engine has the same three accesses, from
// which it finds the order between segments and everything outside of the program.
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

// DerivesFrom reports whether the program keeps forms of a variable: an executor must tell it when
// the variable is written. It reports whether some kept form of parameters is made of a variable.
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
