package compile

import (
	"slices"

	"gomx/graph"
)

// Stage is one row of the table of stages, after the table of passes of Go's compiler
// (cmd/compile/internal/ssa/compile.go). Callers read rows and do not change them.
type Stage struct {
	// Name is unique in the table. Options.Without, reports and constraints use it.
	Name string

	// Reason says why the stage exists and why it stands where it stands.
	Reason string

	// Before names stages that run later than this one, After stages that run earlier. A stage
	// states a constraint once, on either side.
	Before []string
	After  []string

	mode mode

	// Loose says that results agree up to rounding. Without it a stage leaves every value as it
	// is, but for the sign of zeros.
	Loose bool

	// Host says that the stage makes operators that only the processor has kernels for; it does
	// not run where a part of the graph lies on another device.
	Host bool

	// Pass says that the stage rewrites the graph: it is reported, and may be left out by name
	// unless it is needed.
	Pass bool

	// Needed says that the stage is never left out by name: the graph would not run.
	Needed bool

	// Optional says that the stage may be left out by name although it is no pass.
	Optional bool

	// Either do or pass is given: do for stages that need the unit or its options, pass for those
	// that see nothing but outputs and facts.
	do   func(u *Unit, s *Stage) error
	pass graph.Pass
}

// mode says which programs a stage works on. Fusions differ between the modes, because training has
// to keep the values that gradients read.
type mode uint8

// The modes of stages.
const (
	always    mode = iota
	inferring      // programs that only infer
	training       // programs that are trained
)

// runs reports whether the options leave a stage on. Stages without a pass always run in their
// mode, but for optional ones: they test the options that they depend on themselves.
func (s *Stage) runs(o *Options) bool {
	switch {
	case s.mode == inferring && o.Train, s.mode == training && !o.Train:
		return false
	case s.Optional && slices.Contains(o.Without, s.Name):
		return false
	case s.pass == nil:
		return true
	case o.NoFusion:
		return false
	}
	return (!s.Host || o.onHost()) && (s.Needed || !slices.Contains(o.Without, s.Name))
}

// run carries a stage out. row is the row of the report, which is s itself.
func (s *Stage) run(u *Unit, row *Stage) error {
	if s.do != nil {
		return s.do(u, row)
	}
	return u.rewrite(row, s.pass)
}

// passes lists the stages that rewrite graphs, in their order. Their names are those that
// Options.Without takes.
func passes() []*Stage {
	return slices.DeleteFunc(stages(), func(s *Stage) bool { return !s.Pass })
}

// Applied is the report of a pass that ran, also of one that changed nothing.
type Applied struct {
	Stage   *Stage
	Changes int            // places of the graph that changed
	List    []graph.Change // the same places by node, in the order in which the pass met them
}
