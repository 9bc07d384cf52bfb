package optimizer

import (
	"encoding/json"
	"fmt"

	nd "gomx/ndarray"
)

// SetName names parameter i, for multipliers and errors, after NewUpdater. Its weight decay then
// does not depend on the name: it decays unless a multiplier is 0.
func (u *Updater) SetName(i int, name string) { u.slot(i).step.Name = name }

// Settled returns the optimizer with the values that the updater has determined: the factor of
// gradients and the multipliers of all its parameters. An updater that another process makes from
// the result, with SetName instead of a list of names, updates the parameters as this one does.
func (u *Updater) Settled() (Optimizer, error) {
	data, err := Encode(u.opt)
	if err != nil {
		return nil, err
	}
	var n named
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, fmt.Errorf("optimizer %s: %w", u.opt.Name(), err)
	}
	n.Params["rescale_grad"] = u.rescale
	n.Params["lr_mult"], n.Params["wd_mult"] = u.lrMult, u.wdMult
	if rate, ok := u.rate.Get(); ok && rate == 0 {
		return nil, fmt.Errorf("optimizer %s: a learning rate of 0 has no encoded form", n.Name)
	} else if ok {
		n.Params["learning_rate"] = rate
	}
	if u.set.BeginUpdate != 0 {
		n.Params["begin_num_update"] = u.set.BeginUpdate
	}
	if data, err = json.Marshal(n); err != nil {
		return nil, fmt.Errorf("optimizer %s: %w", u.opt.Name(), err)
	}
	return Decode(data)
}

// Progress is the part of an updater's state of one parameter that is not in the state arrays. With
// both, another updater of the same optimizer continues bit for bit (LBSGD in the middle of a batch
// needs Collected too).
type Progress struct {
	Count       int    // updates of the parameter
	Updates     int    // largest number of updates of any parameter
	Own, Shared Memory // numbers kept for the parameter, and for all parameters together
}

// Collected returns the sum of the gradients of an incomplete batch of parameter i, nil if there is
// none. Only LBSGD has one.
func (u *Updater) Collected(i int) *nd.Array {
	if s := u.slots[i]; s != nil && s.step.collecting {
		return s.step.sum
	}
	return nil
}

// SetCollected continues an incomplete batch of parameter i with a sum that Collected has returned.
func (u *Updater) SetCollected(i int, sum *nd.Array) {
	s := u.slot(i)
	s.step.sum, s.step.collecting = sum, sum != nil
}

// Progress returns the progress of parameter i.
func (u *Updater) Progress(i int) Progress {
	s := u.slot(i)
	return Progress{s.count, u.updates, s.own, u.shared}
}

// Rewind makes all parameters share the state of p, also where p lies behind their present one, and
// forgets the given parameters: they have no states, and SetState and SetProgress give them others.
func (u *Updater) Rewind(p Progress, forget ...int) {
	u.updates, u.shared = p.Updates, p.Shared
	for _, i := range forget {
		delete(u.slots, i)
	}
}

// SetProgress makes parameter i continue from p. State that the parameters share only moves
// forward: Updates is the maximum, and Shared comes from the parameter that is furthest ahead.
func (u *Updater) SetProgress(i int, p Progress) {
	s := u.slot(i)
	s.count, s.own = p.Count, p.Own
	if p.Updates >= u.updates {
		u.updates, u.shared = p.Updates, p.Shared
	}
}
