package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"gomx/autograd"
	"gomx/device"
	"gomx/dtype"
	"gomx/gluon"
	nd "gomx/ndarray"
)

// GluonCases reads the cases below gluon/.
func GluonCases(g *Golden) ([]Case, error) {
	var list []Case
	for _, part := range []string{"layers", "rnn", "loss"} {
		cases, err := casesOf[blockCase](g, "gluon/"+part+"/"+part+".json")
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			c.folder = "gluon/" + part
			list = append(list, Case{ID: part + "/" + c.ID, Run: c.run})
		}
	}
	trains, err := casesOf[gluonTrainCase](g, gluonTrain+"train.json")
	if err != nil {
		return nil, err
	}
	for _, c := range trains {
		list = append(list, Case{ID: "train/" + c.ID, Run: c.run})
	}
	utils, err := casesOf[utilsCase](g, "gluon/utils/utils.json")
	if err != nil {
		return nil, err
	}
	for _, c := range utils {
		list = append(list, Case{ID: "utils/" + c.ID, Run: c.run})
	}
	files, err := casesOf[filesCase](g, "gluon/files/files.json")
	if err != nil {
		return nil, err
	}
	for _, c := range files {
		list = append(list, Case{ID: "files/" + c.ID, Run: c.run})
	}
	for _, part := range []func(*Golden) ([]Case, error){DataCases, zooCases} {
		more, err := part(g)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// blockCase is one block: its parameters, its outputs and its gradients.
type blockCase struct {
	folder string

	ID, Note, File string
	Spec           blockSpec
	Call           json.RawMessage // of losses and recurrent blocks
	Inputs         []fillRef
	Params         []blockParam
	Prefix         string // of MXNet's global names, which gomx does not have
	Predict        []Ref
	Train          bool      // false: only inference is given
	TrainOutputs   []Ref     `json:"train_outputs"`
	HeadGrads      []fillRef `json:"head_grads"`
	InputGrads     []struct {
		Input int
		Ref
	} `json:"input_grads"`
	ParamGrads  []Ref             `json:"param_grads"`
	AuxAfter    []Ref             `json:"aux_after"`
	SparseGrads map[string]string `json:"sparse_grads"` // storage in MXNet; the values are dense
}

// blockParam is a parameter of a block.
type blockParam struct {
	Name, Prefixed string
	Declared       []int `json:"shape_declared"`
	Shape          []int
	DType          string
	GradReq        string `json:"grad_req"`
	Fill           string
}

// network makes the block and the function that calls it.
func (c *blockCase) network(dev device.Device) (root any, call func(in []*nd.Array) []*nd.Array,
	err error) {
	if len(c.Call) == 0 {
		b, err := c.Spec.build()
		if err != nil {
			return nil, nil, err
		}
		return b, func(in []*nd.Array) []*nd.Array { return []*nd.Array{b.Forward(in[0])} }, nil
	}
	var kind struct{ Kind string }
	if err := json.Unmarshal(c.Call, &kind); err != nil {
		return nil, nil, err
	}
	if kind.Kind == "loss" {
		var l lossCall
		if err := decodeStrictly(c.Call, &l); err != nil {
			return nil, nil, err
		}
		call, err := l.network(&c.Spec)
		return nil, call, err
	}
	var r rnnCall
	if err := decodeStrictly(c.Call, &r); err != nil {
		return nil, nil, err
	}
	return r.network(&c.Spec, dev)
}

func (c *blockCase) run(env Env) error {
	root, call, err := c.network(env.Device)
	if err != nil {
		return err
	}
	net := gluon.Wrap(root, call)
	if err := c.setParams(net.Params(), env.Device); err != nil {
		return err
	}
	in, err := c.inputs(env.Device)
	if err != nil {
		return err
	}
	if err := c.compare(env.Golden, "output", net.Call(in...), c.Predict); err != nil {
		return fmt.Errorf("inference: %w", err)
	}
	if !c.Train {
		return nil
	}
	return c.train(env, net, in)
}

// inputs computes the inputs.
func (c *blockCase) inputs(dev device.Device) ([]*nd.Array, error) {
	list := make([]*nd.Array, len(c.Inputs))
	for i := range c.Inputs {
		a, err := c.Inputs[i].array()
		if err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		if list[i], err = a.upload(dev); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// setParams compares the declared parameters with the case and gives them their values.
func (c *blockCase) setParams(params *gluon.Params, dev device.Device) error {
	names := params.Names()
	if len(names) != len(c.Params) {
		return fmt.Errorf("parameters %v, want %d", names, len(c.Params))
	}
	if err := params.Init(nil, gluon.On(dev)); err != nil {
		return err
	}
	for i, want := range c.Params {
		p := params.Get(want.Name)
		switch {
		case names[i] != want.Name:
			return fmt.Errorf("parameter %d is %s, want %s", i, names[i], want.Name)
		case !p.Shape.Equal(want.Declared):
			return fmt.Errorf("parameter %s has shape %v, want %v", want.Name, p.Shape,
				want.Declared)
		case (p.GradReq == nd.GradNull) != (want.GradReq == "null"):
			return fmt.Errorf("parameter %s has request %v, want %s", want.Name, p.GradReq,
				want.GradReq)
		case p.DType.String() != want.DType:
			return fmt.Errorf("parameter %s is %v, want %s", want.Name, p.DType, want.DType)
		}
		values, err := Fill(want.Fill, append(dtype.Shape{}, want.Shape...)).upload(dev)
		if err != nil {
			return err
		}
		if err := p.Set(values); err != nil {
			return err
		}
	}
	return nil
}

// train compares the outputs under a training tape, the gradients and the running statistics.
func (c *blockCase) train(env Env, net *gluon.Net, in []*nd.Array) error {
	tape := autograd.Train()
	for i := range in {
		if c.Inputs[i].Grad {
			in[i].AttachGrad()
		}
		in[i] = tape.Watch(in[i])
	}
	out := net.Call(in...)
	if err := c.compare(env.Golden, "output", out, c.TrainOutputs); err != nil {
		return fmt.Errorf("training: %w", err)
	}
	heads := make([]*nd.Array, len(c.HeadGrads))
	for i := range c.HeadGrads {
		a, err := c.HeadGrads[i].array()
		if err != nil {
			return err
		}
		if heads[i], err = a.upload(env.Device); err != nil {
			return err
		}
	}
	if len(c.InputGrads)+len(c.ParamGrads) > 0 {
		if err := autograd.Backward(out, autograd.HeadGrads(heads...)); err != nil {
			return err
		}
	}
	for _, r := range c.InputGrads {
		if err := c.compareOne(env.Golden, fmt.Sprintf("gradient of input %d", r.Input),
			in[r.Input].Grad(), r.Ref); err != nil {
			return err
		}
	}
	for _, r := range c.ParamGrads {
		if err := c.compareOne(env.Golden, "gradient of "+r.Name, net.Params().Get(r.Name).Grad(),
			r); err != nil {
			return err
		}
	}
	for _, r := range c.AuxAfter {
		if err := c.compareOne(env.Golden, r.Name+" afterwards", net.Params().Get(r.Name).Data(),
			r); err != nil {
			return err
		}
	}
	return nil
}

// compare compares a list of outputs.
func (c *blockCase) compare(g *Golden, what string, got []*nd.Array, want []Ref) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d outputs, want %d", len(got), len(want))
	}
	for i, r := range want {
		if err := c.compareOne(g, fmt.Sprintf("%s %d", what, i), got[i], r); err != nil {
			return err
		}
	}
	return nil
}

// looseClasses are parts of the names of blocks whose sums are long or whose algorithms differ.
var looseClasses = []string{"Conv", "RNN", "LSTM", "GRU", "Norm", "CTC", "Deformable", "Cell"}

func (c *blockCase) compareOne(g *Golden, what string, got *nd.Array, r Ref) error {
	if got == nil {
		return errors.New(what + ": there is none")
	}
	want, err := g.Array(path.Join(c.folder, c.File), r)
	if err != nil {
		return err
	}
	a, err := download(got)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return compare(what, a, want, c.Spec.tolerance())
}
