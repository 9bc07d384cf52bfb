package symbol

import (
	"gomx/compile"
	"gomx/device"
	"gomx/exec"
)

// Executor is a symbol bound to memory: Args, Grads and Aux are its arrays by name
// (map[string]*ndarray.Array). Methods:
//
//   - Forward(train bool) error, Backward(headGrads ...*ndarray.Array) error: run it; both return
//     before the work is done
//   - Outputs() []*ndarray.Array
//   - Feed(name string, a *ndarray.Array) error: takes the values of an argument from another array
//   - Reshape(shapes map[string]dtype.Shape) (*Executor, error): one for other shapes, which shares
//     parameters and memory
//   - Explain, MemoryUse, MemoryPlan: describe the compiled graph of a mode
//   - SetMonitor(m *Monitor), Seek(run uint64), Close()
type Executor = exec.Executor

// BindConfig says how a symbol is bound to memory. The zero value binds for training on the CPU
// with every argument inferred from the attributes of the symbol.
//
//   - Device device.Device; Group2Ctx map[string]device.Device: devices of groups of nodes
//   - Shapes map[string]dtype.Shape, Types map[string]dtype.Type, Stored map[string]Storage: of
//     data and labels at least; others are inferred
//   - GradReq map[string]op.Req, DefaultReq op.Req: requests for gradients
//   - Args, Grads, Aux map[string]*ndarray.Array: arrays to use in place of new ones
//   - Shared *Executor: lends its planned memory; the two run one after the other
//   - Precision dtype.Type, Products op.Opt[device.Products], LossScale *LossScale: mixed precision
//   - Seed uint64: begin of the random stream
//   - Recompute float64: share of the planned memory to reach by computing values again
//   - Streams int: number of queues of a device; Replay bool: launch recorded kernels at once
//   - Guard bool: the first value that is not finite is an error
//   - Monitor *Monitor: looks at values; NoFusion bool: runs the operators as composed
//   - Without []string: passes to leave out
type BindConfig = exec.Config

// LossScale is the factor by which gradients of a narrow precision are scaled.
type LossScale = exec.LossScale

// NewLossScale returns a factor for executors on a device. Powers of two change no bit of a
// gradient that stays in range.
func NewLossScale(d device.Device, value float64) *LossScale { return exec.NewLossScale(d, value) }

// Monitor looks at values inside a graph while it runs.
//
//   - Pattern *regexp.Regexp: names of outputs, such as conv1_output; nil means all
//   - Call func(Observation) error: is called by the goroutine that has computed the value; an
//     error fails the run
type Monitor = exec.Monitor

// Observation is one value that a monitor sees. Its memory is valid during the call only.
//
//   - Name string, Value op.Tensor; its method Norm is the norm of the value
//   - Train bool: the mode
//   - Run uint64: number of the run, from 1
type Observation = exec.Observation

// MemoryUse is the memory that a compiled mode of an executor needs beside the arrays bound to it,
// in bytes (int64).
//
//   - Arena: planned memory with the scratch of kernels; Values: the same without scratch
//   - LowerBound: the most that is alive at one time; Unshared: memory without sharing
//   - Outputs: arrays of the outputs; Kept: parameters in another form
//   - Recomputed int: number of nodes that are computed again
//   - On map[device.Device]int64: the part of Arena on each device
type MemoryUse = compile.MemoryUse

// MemoryPlan says where everything between the arguments and the outputs of a compiled graph lies.
// Plan has the addresses of Buffers; Steps []string are the operators in order. Its method WriteSVG
// draws it.
type MemoryPlan = compile.MemoryPlan

// Explanation lists the changes that compiling the graph of one mode has made to it.
//
//   - Train bool: the mode
//   - Composed, Operators, Reorders int: numbers of operators before and after, and of changes of
//     layout
//   - Casts []string: nodes that convert element types
//   - Passes []PassReport, Library []LibraryUse: in the order in which they run
//
// Its method WriteTable prints it.
type Explanation = compile.Explanation

// PassReport lists the changes of one pass: Pass and Reason string, Changes, and Loose bool, which
// says that results agree up to rounding.
type PassReport = compile.PassReport

// LibraryUse lists the implementations that a library has chosen for a node: Node and Op string,
// and Impls []string in the order of the calls.
type LibraryUse = compile.LibraryUse

// SimpleBind infers all shapes and element types, allocates the arrays that c does not give, and
// returns an executor that is ready to run.
func (s *Symbol) SimpleBind(c BindConfig) (*Executor, error) {
	if err := s.checkNames(); err != nil {
		return nil, err
	}
	args, aux := s.variables()
	return exec.Bind(exec.Net{Outputs: s.outputs, Args: args, Aux: aux}, c)
}

// Of returns the symbol that an executor is bound to.
func Of(ex *Executor) *Symbol { return FromEntries(ex.Net().Outputs...) }

// Explain binds s and lists the changes of the passes to its graph for training or inference.
func Explain(s *Symbol, c BindConfig, train bool) (*Explanation, error) {
	ex, err := s.SimpleBind(c)
	if err != nil {
		return nil, err
	}
	defer ex.Close()
	return ex.Explain(train)
}
