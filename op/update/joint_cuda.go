//go:build cuda

package update

import (
	"gomx/device/cuda"
)

// jointSteps is a launch of the steps of several weights whose rule and numbers are the same, but
// for rates, decays and number 7.
type jointSteps struct {
	f    *cuda.Function
	args manyArgs
}

func newJointSteps() cuda.Joint { return &jointSteps{} }

// add adds a step, after the steps so far have been put on q if it cannot join them.
func (j *jointSteps) add(q *cuda.Queue, f *cuda.Function, s *stepArgs) error {
	if k := &j.args; k.count > 0 && (k.count == manySteps || j.f != f || !k.joins(s)) {
		if err := j.Put(q); err != nil {
			return err
		}
	}
	k := &j.args
	if k.count == 0 {
		j.f = f
		*k = manyArgs{states: s.states, mixed: s.mixed, numbers: s.numbers, scale: s.scale,
			scaleType: s.scaleType}
	}
	k.one[k.count] = oneStep{out: s.out, weight: s.weight, grad: s.grad, state: s.state, n: s.n,
		lr: s.numbers[0], wd: s.numbers[1], own: s.numbers[7]}
	k.first[k.count] = k.parts
	k.parts += (s.n + span - 1) / span
	k.count++
	k.first[k.count] = k.parts
	return nil
}

// joins reports whether a step has the common numbers of a launch.
func (k *manyArgs) joins(s *stepArgs) bool {
	for i, v := range s.numbers {
		if i != 0 && i != 1 && i != 7 && v != k.numbers[i] {
			return false
		}
	}
	return k.states == s.states && k.mixed == s.mixed && k.scale == s.scale &&
		k.scaleType == s.scaleType
}

// Put implements cuda.Joint.
func (j *jointSteps) Put(q *cuda.Queue) error {
	k := j.args
	j.args.count = 0 // the launch below lets q put its joint launch
	if k.count == 0 || k.parts == 0 {
		return nil
	}
	return cuda.LaunchWith(q, j.f, cuda.Grid{X: min(k.parts, 1<<16), Y: 1, Threads: 256}, &k)
}
