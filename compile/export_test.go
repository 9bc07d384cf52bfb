package compile

import "slices"

// Stages and Passes show tests the rows of the table.
var (
	Stages = stages
	Passes = passes
)

// PassesOf lists the passes that every program of training or of inference meets, in their order:
// without the ones that only several devices, or another precision, call for.
func PassesOf(train bool) []*Stage {
	return slices.DeleteFunc(passes(), func(s *Stage) bool {
		return s.pass == nil || s.mode == training && !train || s.mode == inferring && train
	})
}

// Always reports whether the stage works on programs of training and of inference.
func (s *Stage) Always() bool { return s.mode == always }
