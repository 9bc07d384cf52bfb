package optimizer

import (
	nd "gomx/ndarray"
)

// Optimizer is a rule that changes a parameter by its gradient. Implementations are values without
// mutable state: their state is in the arrays and in the Step.
type Optimizer interface {
	// Name returns MXNet's name, in lower case.
	Name() string
	// Settings returns the parameters that all optimizers have.
	Settings() Settings
	// State makes the arrays that the optimizer keeps for a weight.
	State(w *nd.Array) []*nd.Array
	// Update changes w and state by the gradient g, asynchronously. It panics with *op.Error on
	// misuse of operators.
	Update(s *Step, w, g *nd.Array, state []*nd.Array)
}

// Common holds the parameters that all optimizers have and that are rarely set.
type Common struct {
	// factor of gradients; 0: the factor of Updater.SetRescale, which a module calls, or 1
	Rescale float64 `opt:"rescale_grad,positive"`
	// limit of the rescaled gradients' elements; 0: none
	Clip float64 `opt:"clip_gradient"`
	// learning rate by number of updates; nil: constant
	Schedule Schedule `opt:"lr_scheduler"`
	// update float16 weights through float32 copies
	MultiPrecision bool `opt:"multi_precision"`
	BeginUpdate    int  `opt:"begin_num_update"` // updates before this run
	// multipliers of the learning rate by parameter name
	LRMult map[string]float64 `opt:"lr_mult"`
	// multipliers of the weight decay by parameter name
	WDMult map[string]float64 `opt:"wd_mult"`
}

// Settings are the parameters of an optimizer that an Updater uses.
type Settings struct {
	LR float64 // learning rate; 0: the schedule's, or 0.01
	WD float64 // weight decay
	Common
}

// Step holds the arguments of one update of one parameter, and memory of the optimizer.
type Step struct {
	Index   int     // of the parameter
	Name    string  // of the parameter; empty: unknown
	LR      float64 // learning rate after schedule and multiplier
	WD      float64 // weight decay after multiplier
	Rescale float64 // factor of the gradient
	Clip    float64 // limit of the gradient's elements; negative: none, as in update operators
	Count   int     // updates of this parameter, this one included
	Own     *Memory // numbers kept for this parameter
	Shared  *Memory // numbers kept for all parameters together

	base float64 // learning rate before the multiplier
	// half is the float16 weight whose float32 copy the step changes; nil without MultiPrecision.
	half       *nd.Array
	sum        *nd.Array // sum of the gradients of an incomplete batch (LBSGD)
	collecting bool      // sum is in use
	factor     *factor   // the factor of gradients as an array
	last       started
}

// started holds the arguments of the last operator of a step, so that the next step reuses the
// memory.
type started struct {
	params any // parameters of the operator
	in     []*nd.Array
	out    [1]*nd.Array
	bulk   *nd.Bulk // takes the operator of the step; nil: it starts at once
}

// joins marks optimizers whose steps are one operator each, which start together with the steps of
// other parameters.
type joins interface{ joins() }

// Memory holds numbers that an optimizer keeps from step to step, initially zeros.
type Memory [2]float64
