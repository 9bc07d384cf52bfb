package optimizer

import (
	"encoding/json"
	"fmt"

	nd "gomx/ndarray"
)

// SetName names parameter i, for multipliers and messages, after NewUpdater. Whether it decays is
// not decided by its name then: it does unless a multiplier says otherwise.
func (u *Updater) SetName(i int, name string) { u.slot(i).step.Name = name }

// Settled returns the optimizer with everything filled in that the updater has worked out: the
// factor of gradients and the multipliers of all its parameters. An updater made from the result
// elsewhere, with SetName instead of a list of names, treats the parameters as this one does.
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
	if u.set.BeginUpdate != 0 {
		n.Params["begin_num_update"] = u.set.BeginUpdate
	}
	if data, err = json.Marshal(n); err != nil {
		return nil, fmt.Errorf("optimizer %s: %w", u.opt.Name(), err)
	}
	return Decode(data)
}

// Progress is what an updater knows about one parameter beside its state arrays. With both, another
// updater of the same optimizer continues bit for bit (LBSGD in the middle of a batch with
// Collected as well).
type Progress struct {
	Count       int    // updates of the parameter
	Updates     int    // the most updates that any parameter has had
	Own, Shared Memory // of the parameter, and of all
}

// Collected returns the sum of the gradients of a batch of parameter i that is not complete, nil if
// there is none. Only LBSGD has one.
func (u *Updater) Collected(i int) *nd.Array {
	if s := u.slots[i]; s != nil && s.step.collecting {
		return s.step.sum
	}
	return nil
}

// SetCollected continues a batch of parameter i with what Collected has returned.
func (u *Updater) SetCollected(i int, sum *nd.Array) {
	s := u.slot(i)
	s.step.sum, s.step.collecting = sum, sum != nil
}

// Progress returns that of parameter i.
func (u *Updater) Progress(i int) Progress {
	s := u.slot(i)
	return Progress{s.count, u.updates, s.own, u.shared}
}

// SetProgress makes parameter i continue from p. What parameters have in common is only moved
// forward: of Shared, the memory of the parameter that is furthest ahead stays.
func (u *Updater) SetProgress(i int, p Progress) {
	s := u.slot(i)
	s.count, s.own = p.Count, p.Own
	if p.Updates >= u.updates {
		u.updates, u.shared = p.Updates, p.Shared
	}
}
