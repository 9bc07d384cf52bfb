package compile

import (
	"slices"

	"gomx/graph"
)

// Stage is one row of the table of stages.
type Stage struct {
	Name   string
	Reason string   // why it exists and why it stands where it stands
	Before []string // stages that run later than this one
	After  []string // stages that run earlier than this one
	Mode   Mode
	Loose  bool // results agree up to rounding; the other stages leave every value as it is, but for the sign of zeros
	Host   bool // it makes operators that only the processor has kernels for
	Pass   bool // it rewrites the graph: it is reported, and may be left out unless it is needed
	Needed bool // it is never left out by name: the graph would not run

	do   func(u *Unit, s *Stage) error
	pass graph.Pass // nil where do is given
}

// Mode says which programs a stage works on.
type Mode uint8

// The modes of stages.
const (
	Always    Mode = iota
	Inferring      // programs that only infer
	Training       // programs that are trained
)

// runs reports whether the options leave a stage on.
func (s *Stage) runs(o *Options) bool {
	switch {
	case s.Mode == Inferring && o.Train, s.Mode == Training && !o.Train:
		return false
	case s.pass == nil:
		return true
	case o.NoFusion:
		return false
	}
	return (!s.Host || o.onHost()) && (s.Needed || !slices.Contains(o.Without, s.Name))
}

// run carries a stage out.
func (s *Stage) run(u *Unit, row *Stage) error {
	if s.do != nil {
		return s.do(u, row)
	}
	return u.rewrite(row, s.pass)
}

// Passes lists the stages that rewrite graphs, in their order.
func Passes() []*Stage {
	return slices.DeleteFunc(Stages(), func(s *Stage) bool { return !s.Pass })
}

// PassesOf lists the passes that programs of a mode meet in any case, in their order: without the
// ones that only several devices, or another precision, call for.
func PassesOf(mode Mode) []*Stage {
	return slices.DeleteFunc(Passes(), func(s *Stage) bool { return s.pass == nil || s.Mode != Always && s.Mode != mode })
}

// Applied is the report of a pass.
type Applied struct {
	Stage   *Stage
	Changes int // places that changed
	List    []graph.Change
}

// step makes a stage of a function that cannot fail.
func step(f func(u *Unit)) func(*Unit, *Stage) error {
	return func(u *Unit, _ *Stage) error { f(u); return nil }
}

// part makes a stage of a function that reports no changes.
func part(f func(u *Unit) error) func(*Unit, *Stage) error {
	return func(u *Unit, _ *Stage) error { return f(u) }
}

// numberStreams numbers the nodes that draw random numbers.
func numberStreams(u *Unit) error {
	list, _ := graph.Streams(u.all(), u.Facts)
	u.become(list)
	return u.Facts.Complete(list)
}

// infer fills in what the source leaves open.
func infer(u *Unit) error { return u.Facts.Infer(u.all()) }
