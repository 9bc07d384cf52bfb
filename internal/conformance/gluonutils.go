package conformance

import (
	"fmt"
	"slices"

	"gomx/device"
	"gomx/gluon"
	nd "gomx/ndarray"
)

// utilsCase is one call of a function of gluon.utils.
type utilsCase struct {
	ID, Function, File string
	MaxNorm            float64 `json:"max_norm"`
	Norm               float64
	Num                int
	Axis               int  `json:"batch_axis"`
	Even               bool `json:"even_split"`
	Shape              []int
	Error              string // in MXNet; any error will do
	Inputs, Outputs    []Ref
}

func (c *utilsCase) run(env Env) error {
	const folder = "gluon/utils/"
	if c.Error != "" {
		x := nd.Zeros(append(nd.Shape{}, c.Shape...), nd.On(env.Device))
		if _, err := c.split(env, x); err == nil {
			return fmt.Errorf("no error, want one like %q", c.Error)
		}
		return nil
	}
	in, err := env.upload(folder+c.File, c.Inputs)
	if err != nil {
		return err
	}
	out := in
	switch c.Function {
	case "clip_global_norm":
		norm, err := nd.ClipGlobalNorm(in, c.MaxNorm)
		if err != nil {
			return err
		}
		if !(Tolerance{1e-5, 1e-4}).holds(norm, c.Norm) {
			return fmt.Errorf("norm %v, want %v", norm, c.Norm)
		}
	case "split_and_load", "split_data":
		if out, err = c.split(env, in[0]); err != nil {
			return err
		}
	default:
		return missing("function %s", c.Function)
	}
	if len(out) != len(c.Outputs) {
		return fmt.Errorf("%d outputs, want %d", len(out), len(c.Outputs))
	}
	for i, r := range c.Outputs {
		if err := compareND(env.Golden, fmt.Sprintf("output %d", i), out[i], folder+c.File,
			r); err != nil {
			return err
		}
	}
	return nil
}

func (c *utilsCase) split(env Env, x *nd.Array) ([]*nd.Array, error) {
	return gluon.SplitAndLoad(x, slices.Repeat([]device.Device{env.Device}, c.Num), c.Axis, !c.Even)
}
