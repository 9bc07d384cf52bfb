package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// BooleanMaskParams are the parameters of BooleanMask.
type BooleanMaskParams struct {
	Axis int `op:"axis" min:"0" max:"0" doc:"axis that rows are selected from, only 0"`
}

// BooleanMask selects rows.
var BooleanMask = op.Declare[BooleanMaskParams]("_contrib_boolean_mask")

func init() {
	BooleanMask.Define(op.Spec[BooleanMaskParams]{
		Traits: op.Traits{
			GoName: "BooleanMask",
			Doc: "BooleanMask selects the rows of data where index is not zero.\n\nIndex has " +
				"one element for each row. The shape of the output depends on the values of " +
				"index: arrays wait for them, and record the lookup of the rows by Take, which " +
				"has a gradient. A graph with the operator runs operator by operator; it cannot be " +
				"traced.",
			Aliases: []string{"_npi_boolean_mask"},
			NoGrad:  "arrays record Take in its place",
			Moves:   true,
		},
		Inputs:    prim.Inputs[BooleanMaskParams]("data", "index"),
		Infer:     inferMask,
		InferType: dataType[BooleanMaskParams](0),
		Resolve: func(_ BooleanMaskParams, shapes []dtype.Shape) (op.Resolution, error) {
			err := maskShapes(shapes)
			return op.Resolution{Op: Take.Op, Params: TakeParams{}, Reads: 1, Replace: rowsOf}, err
		},
		Ref: func(BooleanMaskParams, *op.Call) error { return errMask },
	})
}

// errMask is the error of a compiled graph with BooleanMask.
var errMask = op.Errorf("", "the shape of the output depends on the values of index, which a "+
	"compiled graph does not know")

// maskShapes merges the number of rows of data and index.
func maskShapes(in []dtype.Shape) error {
	if in[0] != nil && len(in[0]) == 0 {
		return op.Errorf("data", "shape %v, want at least one axis", in[0])
	}
	rows := dtype.Shape{-1}
	if in[0] != nil {
		rows = in[0][:1]
	}
	return op.Require("index", &in[1], rows)
}

// inferMask leaves the number of rows of the output unknown.
func inferMask(_ BooleanMaskParams, in, out []dtype.Shape) error {
	if err := maskShapes(in); err != nil || in[0] == nil {
		return err
	}
	return op.Require("output", &out[0], append(dtype.Shape{-1}, in[0][1:]...))
}

// rowsOf returns the positions of the elements that are not zero.
func rowsOf(index op.Tensor) op.Tensor {
	var rows []int64
	for i, v := range loop.Floats(index) {
		if v != 0 {
			rows = append(rows, int64(i))
		}
	}
	t := op.Tensor{Desc: op.Plain(dtype.Int64, dtype.Shape{len(rows)})}
	if len(rows) > 0 {
		t = op.TensorOf(rows)
	}
	return t
}
