package main

import (
	"math/rand/v2"

	"gomx/autograd"
	"gomx/gluon"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// experience is a push: the states before and after it, and whether something fell.
type experience struct {
	before, after []float32
	action, fell  float32
}

// agent chooses pushes.
type agent struct {
	net, old *gluon.Net // scores of both pushes; old is the copy
	trainer  *gluon.Trainer
	seen     []experience
	next     int // place of the next experience in seen, once it is full
}

func newAgent() (*agent, error) {
	a := &agent{}
	for _, net := range []**gluon.Net{&a.net, &a.old} {
		*net = gluon.New(nn.Sequential{&nn.Dense{Units: 64, InUnits: 4, Activation: "relu"},
			&nn.Dense{Units: 64, InUnits: 64, Activation: "relu"},
			&nn.Dense{Units: 2, InUnits: 64}})
		if err := (*net).Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
			return nil, err
		}
		(*net).Hybridize()
	}
	var err error
	a.trainer, err = gluon.NewTrainer(a.net.Params(), optimizer.Adam{LR: 1e-3})
	return a, err
}

// best returns the pushes with the highest scores for the states in x, four numbers each.
func (a *agent) best(x []float32) ([]float32, error) {
	return a.net.Forward(nd.FromSlice(x, len(x)/4, 4)).ArgMax(1).Float32s()
}

// remember keeps an experience in place of the oldest one.
func (a *agent) remember(e experience) {
	if len(a.seen) < memory {
		a.seen = append(a.seen, e)
		return
	}
	a.seen[a.next], a.next = e, (a.next+1)%memory
}

// learn trains on experiences that it draws: the worth of a push is one, and the worth of the best
// push after it.
func (a *agent) learn(r *rand.Rand) error {
	var before, after, actions, fell []float32
	for range batch {
		e := a.seen[r.IntN(len(a.seen))]
		before, after = append(before, e.before...), append(after, e.after...)
		actions, fell = append(actions, e.action), append(fell, e.fell)
	}
	then := nd.FromSlice(after, batch, 4)
	worth := a.old.Forward(then).Pick(a.net.Forward(then).ArgMax(1), 1)
	worth = worth.Mul(nd.FromSlice(fell).RSubScalar(1)).MulScalar(discount).AddScalar(1)
	x := autograd.Train().Watch(nd.FromSlice(before, batch, 4))
	loss.Huber{}.Forward(a.net.Forward(x).Pick(nd.FromSlice(actions), 1), worth).Backward()
	if err := a.trainer.Step(batch); err != nil || a.trainer.Steps()%copying != 1 {
		return err
	}
	values := map[string]*nd.Array{}
	for name, p := range a.net.Params().All() {
		values[name] = p.Data()
	}
	return a.old.Params().Set(values)
}

// play lets the agent push n carts until all episodes are over. It returns the mean of the pushes.
func (a *agent) play(n int, r *rand.Rand) (float64, error) {
	all, sum := make([]cartPole, n), 0
	for i := range all {
		all[i].reset(r)
	}
	for len(all) > 0 {
		var x []float32
		for i := range all {
			x = all[i].observe(x)
		}
		pushes, err := a.best(x)
		if err != nil {
			return 0, err
		}
		var on []cartPole
		for i, c := range all {
			if _, over := c.push(int(pushes[i])); over {
				sum += c.steps
			} else {
				on = append(on, c)
			}
		}
		all = on
	}
	return float64(sum) / float64(n), nil
}
