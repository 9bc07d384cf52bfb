package control

import "gomx/op"

// ForeachParams configures Foreach. The numbers in the three lists are places among the inputs of
// Body. The operator's own inputs are the data, the first states and the other inputs of the body,
// in this order.
type ForeachParams struct {
	NumArgs     int   `op:"num_args,required" min:"1" max:"65536" doc:"number of inputs, and one for the body"`
	NumOutputs  int   `op:"num_outputs,required" min:"1" max:"65536" doc:"number of outputs"`
	NumOutData  int   `op:"num_out_data,required" min:"0" max:"65536" doc:"number of outputs with a row for each step; the others are last states"`
	InStateLocs []int `op:"in_state_locs,required" doc:"inputs of the body that are states"`
	InDataLocs  []int `op:"in_data_locs,required" doc:"inputs of the body that are rows of the data"`
	RemainLocs  []int `op:"remain_locs,required" doc:"inputs of the body that are the same in all steps"`

	Body *op.Graph `op:"body,graph" doc:"one step: its outputs are rows, then new states"`
}

// WhileLoopParams configures WhileLoop. The inputs of Cond and Body are inputs of the operator,
// which CondInputLocs and FuncInputLocs list; FuncVarLocs are places among the inputs of Body.
type WhileLoopParams struct {
	NumArgs       int   `op:"num_args,required" min:"2" max:"65536" doc:"number of inputs, and two for the condition and the body"`
	NumOutputs    int   `op:"num_outputs,required" min:"1" max:"65536" doc:"number of outputs"`
	NumOutData    int   `op:"num_out_data,required" min:"0" max:"65536" doc:"number of outputs with a row for each step; the others are last loop variables"`
	MaxIterations int   `op:"max_iterations,required" min:"1" doc:"most steps; rows of steps that are not taken are zeros"`
	CondInputLocs []int `op:"cond_input_locs,required" doc:"inputs of the operator that the condition reads"`
	FuncInputLocs []int `op:"func_input_locs,required" doc:"inputs of the operator that the body reads"`
	FuncVarLocs   []int `op:"func_var_locs,required" doc:"inputs of the body that are loop variables"`

	Cond *op.Graph `op:"cond,graph" doc:"whether to take a step"`
	Body *op.Graph `op:"body,graph" doc:"one step: its outputs are rows, then new loop variables"`
}

// CondParams configures Cond. The lists are inputs of the operator that the three graphs read.
type CondParams struct {
	NumArgs       int   `op:"num_args,required" min:"3" max:"65536" doc:"number of inputs, and three for the graphs"`
	NumOutputs    int   `op:"num_outputs,required" min:"1" max:"65536" doc:"number of outputs"`
	CondInputLocs []int `op:"cond_input_locs,required" doc:"inputs of the operator that the condition reads"`
	ThenInputLocs []int `op:"then_input_locs,required" doc:"inputs of the operator that the first branch reads"`
	ElseInputLocs []int `op:"else_input_locs,required" doc:"inputs of the operator that the second branch reads"`

	Pred *op.Graph `op:"pred,graph" doc:"which branch to take"`
	Then *op.Graph `op:"then,graph" doc:"the branch for a condition that is not zero"`
	Else *op.Graph `op:"else,graph" doc:"the branch for a condition of zero"`
}

// scanParams configures the gradient of loops, which is a loop over the same steps. The inputs of
// the body are rows of the data, states and inputs that stay the same, in this order, and so are
// the inputs of the operator. With Counted the operator has one more input, the number of steps.
type scanParams struct {
	Data       int  `op:"data,required" min:"0" doc:"number of inputs with a row for each step"`
	States     int  `op:"states,required" min:"0" doc:"number of states"`
	NumOutData int  `op:"num_out_data,required" min:"0" doc:"number of outputs with a row for each step"`
	Reverse    bool `op:"reverse" doc:"take the last row first"`
	Counted    bool `op:"counted" doc:"take as many steps as the last input says"`
	Rows       int  `op:"rows" min:"0" doc:"number of rows; 0: that of the data"`

	Body *op.Graph `op:"body,graph" doc:"one step"`
}

// The operators of MXNet's control flow.
var (
	Foreach   = op.Declare[ForeachParams]("_foreach")
	WhileLoop = op.Declare[WhileLoopParams]("_while_loop")
	Cond      = op.Declare[CondParams]("_cond")
)

// scan is the gradient of loops.
var scan = op.Declare[scanParams]("_backward_loop")
