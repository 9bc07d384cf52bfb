package optimizer

import (
	nd "gomx/ndarray"
)

// Optimizer is a rule that changes a parameter by its gradient. Implementations are values
// without state of their own: what they remember is in the arrays and in the Step.
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

// Common are the parameters that optimizers share and that are rarely set.
type Common struct {
	// factor of gradients; 0: 1, or what the module chooses
	Rescale float64 `opt:"rescale_grad,positive"`
	// limit of the rescaled gradients' elements; 0: none
	Clip float64 `opt:"clip_gradient"`
	// nil: the learning rate is constant
	Schedule Schedule `opt:"lr_scheduler"`
	// float32 copies of float16 weights
	MultiPrecision bool `opt:"multi_precision"`
	BeginUpdate    int  `opt:"begin_num_update"`
	// multipliers of the learning rate by parameter name
	LRMult map[string]float64 `opt:"lr_mult"`
	// multipliers of the weight decay by parameter name
	WDMult map[string]float64 `opt:"wd_mult"`
}

// Settings are what an Updater needs to know of an optimizer.
type Settings struct {
	LR float64 // 0: that of the schedule, or 0.01
	WD float64
	Common
}

// Step is what an optimizer is told about one update of one parameter.
type Step struct {
	Index   int
	Name    string  // empty when unknown
	LR      float64 // after schedule and multiplier
	WD      float64 // after multiplier
	Rescale float64
	Clip    float64 // negative for none, as the update operators want it
	Count   int     // updates of this parameter, this one included
	Own     *Memory // of this parameter
	Shared  *Memory // of all parameters

	base float64 // learning rate before the multiplier
	// half is the float16 weight whose float32 copy the step changes; nil without MultiPrecision.
	half       *nd.Array
	sum        *nd.Array // of the gradients of a batch that is not complete
	collecting bool      // sum holds gradients
	last       started
}

// started is the last operator that a step started. Its memory serves again at the next one.
type started struct {
	params any // boxed
	in     []*nd.Array
	out    [1]*nd.Array
}

// Memory are numbers that an optimizer remembers from step to step. They begin as zeros.
type Memory [2]float64
