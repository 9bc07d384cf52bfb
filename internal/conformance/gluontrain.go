package conformance

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"gomx/autograd"
	"gomx/device"
	"gomx/dtype"
	"gomx/gluon"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/optimizer"
)

// gluonTrain is the folder of the cases that train by gluon's Trainer.
const gluonTrain = "gluon/train/"

// gluonTrainCase is a network trained by Trainer for some steps over alternating batches.
type gluonTrainCase struct {
	ID              string
	Net, Loss       *blockSpec
	Optimizer       string
	OptimizerParams map[string]any `json:"optimizer_params"`
	Scheduler       map[string]any `json:"lr_scheduler"`
	Options         gluonTrainOptions
	File            string
	Steps, Batches  int
	X, Y            []fillRef
	StepBatch       int `json:"step_batch"`
	Params          []blockParam
	TrainerOrder    []string `json:"trainer_order"`
	Losses          []float64
	ParamL2         []float64 `json:"param_l2"`
	LearningRates   []float64 `json:"learning_rates"`
	ClipNorms       []float64 `json:"clip_norms"`
	Final           []Ref
}

// gluonTrainOptions are the parts of a training loop that only some cases have.
type gluonTrainOptions struct {
	Clip       float64
	Accumulate int
	Mult       map[string][2]float64
	Frozen     []string
	SetLR      map[string]float64 `json:"set_lr"`
	Sched      bool
}

// gluonRun is a network in training.
type gluonRun struct {
	net     *gluon.Net
	loss    func(in lossArgs) *nd.Array
	trainer *gluon.Trainer
}

// newGluonRun makes a network with the values of its parameters.
func newGluonRun(net, loss *blockSpec, params []blockParam, dev device.Device) (r gluonRun,
	err error) {
	b, err := net.build()
	if err != nil {
		return r, err
	}
	r.net = gluon.New(b)
	if r.loss, err = lossBlock(loss); err != nil {
		return r, err
	}
	if err := r.net.Init(nil, gluon.On(dev)); err != nil {
		return r, err
	}
	for _, p := range params {
		values, err := Fill(p.Fill, append(dtype.Shape{}, p.Shape...)).upload(dev)
		if err != nil {
			return r, err
		}
		if r.net.Params().Get(p.Name) == nil {
			return r, fmt.Errorf("no parameter %s", p.Name)
		}
		if err := r.net.Params().Get(p.Name).Set(values); err != nil {
			return r, err
		}
	}
	return r, nil
}

// train makes the trainer.
func (r *gluonRun) train(name string, params, scheduler map[string]any,
	opts ...gluon.TrainerOption) error {
	kwargs := maps.Clone(params)
	if scheduler != nil {
		s := maps.Clone(scheduler)
		kind := strings.ToLower(strings.TrimSuffix(s["class"].(string), "Scheduler"))
		delete(s, "class")
		schedule, err := optimizer.NewSchedule(kind, s)
		if err != nil {
			return err
		}
		kwargs["lr_scheduler"] = schedule
	}
	o, err := optimizer.New(name, kwargs)
	if err != nil {
		return err
	}
	r.trainer, err = gluon.NewTrainer(r.net.Params(), o, opts...)
	return err
}

// backward computes the gradients for a batch, and returns the mean loss.
func (r *gluonRun) backward(x, y *nd.Array) (float64, error) {
	l := r.loss(lossArgs{"pred": r.net.Forward(autograd.Train().Watch(x)), "label": y})
	l.Backward()
	values, err := l.Float64s()
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values)), err
}

// trained returns the gradients of the parameters that are trained, in structural order.
func (r *gluonRun) trained() (list []*nd.Array) {
	for _, p := range r.net.Params().All() {
		if p.GradReq != nd.GradNull {
			list = append(list, p.Grad())
		}
	}
	return list
}

// length returns the length of all parameters together.
func (r *gluonRun) length() (float64, error) {
	sum := 0.0
	for _, p := range r.net.Params().All() {
		values, err := p.Data().Float64s()
		if err != nil {
			return 0, err
		}
		for _, v := range values {
			sum += v * v
		}
	}
	return math.Sqrt(sum), nil
}

// structuralOrder gives the parameters in MXNet's order, by their structural names.
func structuralOrder(order []string, params []blockParam) gluon.TrainerOption {
	names := map[string]string{}
	for _, p := range params {
		names[p.Prefixed] = p.Name
	}
	list := make([]string, len(order))
	for i, prefixed := range order {
		list[i] = names[prefixed]
	}
	return gluon.Order(list...)
}

func (c *gluonTrainCase) run(env Env) error {
	r, err := newGluonRun(c.Net, c.Loss, c.Params, env.Device)
	if err != nil {
		return err
	}
	c.prepare(r.net.Params())
	if err := r.train(c.Optimizer, c.OptimizerParams, c.Scheduler,
		structuralOrder(c.TrainerOrder, c.Params)); err != nil {
		return err
	}
	var x, y []*nd.Array
	for i := range c.Batches {
		for _, part := range []struct {
			ref  *fillRef
			list *[]*nd.Array
		}{{&c.X[i], &x}, {&c.Y[i], &y}} {
			a, err := part.ref.upload(env.Device)
			if err != nil {
				return err
			}
			*part.list = append(*part.list, a)
		}
	}
	for step := range c.Steps {
		if err := c.step(&r, x, y, step); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	for _, f := range c.Final {
		if err := compareWith(env.Golden, f.Name, r.net.Params().Get(f.Name).Data(),
			gluonTrain+c.File, f, Tolerance{1e-4, 1e-3}); err != nil {
			return err
		}
	}
	return nil
}

// prepare sets how the parameters are trained.
func (c *gluonTrainCase) prepare(params *gluon.Params) {
	for _, name := range c.Options.Frozen {
		params.Get(name).SetGradReq(nd.GradNull)
	}
	if c.Options.Accumulate > 0 {
		params.SetGradReq(nd.GradAdd)
	}
	for name, m := range c.Options.Mult {
		p := params.Get(name)
		p.LRMult, p.WDMult = op.Some(m[0]), op.Some(m[1])
	}
}

// step trains on the batches of a step and compares loss, norm, learning rate and length.
func (c *gluonTrainCase) step(r *gluonRun, x, y []*nd.Array, step int) error {
	if rate, ok := c.Options.SetLR[fmt.Sprint(step)]; ok {
		if err := r.trainer.SetLearningRate(rate); err != nil {
			return err
		}
	}
	passes, loss := max(1, c.Options.Accumulate), 0.0
	for a := range passes {
		k := (step*passes + a) % c.Batches
		l, err := r.backward(x[k], y[k])
		if err != nil {
			return err
		}
		loss += l / float64(passes)
	}
	tol := Tolerance{1e-6, 1e-4}
	if c.Options.Clip > 0 {
		norm, err := nd.ClipGlobalNorm(r.trained(), c.Options.Clip)
		if err == nil {
			err = near("norm", norm, c.ClipNorms[step], tol)
		}
		if err != nil {
			return err
		}
	}
	if err := r.trainer.Step(c.StepBatch); err != nil {
		return err
	}
	if c.Options.Accumulate > 0 {
		r.net.Params().ZeroGrad()
	}
	length, err := r.length()
	if err != nil {
		return err
	}
	for _, v := range []struct {
		what      string
		got, want float64
	}{{"loss", loss, c.Losses[step]}, {"length of the parameters", length, c.ParamL2[step]},
		{"learning rate", r.trainer.LearningRate(), c.LearningRates[step]}} {
		if err := near(v.what, v.got, v.want, tol); err != nil {
			return err
		}
	}
	return nil
}
