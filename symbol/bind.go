package symbol

import (
	"gomx/compile"
	"gomx/device"
	"gomx/exec"
)

// Executor is a symbol bound to memory.
type Executor = exec.Executor

// BindConfig says how a symbol is bound to memory. The zero value binds for training on the CPU
// with every argument inferred from the attributes of the symbol.
type BindConfig = exec.Config

// LossScale is the factor by which gradients of a narrow precision are scaled.
type LossScale = exec.LossScale

// NewLossScale returns a factor for executors on a device. Powers of two change no bit of a
// gradient that stays in range.
func NewLossScale(d device.Device, value float64) *LossScale { return exec.NewLossScale(d, value) }

// Monitor looks at values inside a graph while it runs.
type Monitor = exec.Monitor

// Observation is one value that a monitor sees.
type Observation = exec.Observation

// MemoryUse is the memory that a compiled mode of an executor needs beside the arrays bound to it.
type MemoryUse = compile.MemoryUse

// MemoryPlan says where everything between the arguments and the outputs of a compiled graph lies.
type MemoryPlan = compile.MemoryPlan

// Explanation lists the changes that compiling the graph of one mode has made to it.
type Explanation = compile.Explanation

// PassReport lists the changes of one pass.
type PassReport = compile.PassReport

// LibraryUse lists the implementations that a library has chosen for a node.
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
