package optimizer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// Updater runs an optimizer on a set of parameters, which it identifies by index. Only one
// goroutine at a time may use it.
type Updater struct {
	opt     Optimizer
	set     Settings
	names   []string           // by index; may be shorter than the set of parameters
	lrMult  map[string]float64 // of learning rates, by parameter name
	wdMult  map[string]float64 // of weight decays, by parameter name
	rescale float64            // factor of gradients
	shared  Memory             // of all parameters, see Step.Shared
	updates int                // largest number of updates of any parameter
	rate    op.Opt[float64]    // learning rate of SetLR
	slots   map[int]*slot      // by index
	factor  factor
	bulk    nd.Bulk
	joining bool // steps go into bulk
}

// slot is the updater's state of one parameter.
type slot struct {
	step  Step
	own   Memory      // see Step.Own
	count int         // updates
	state []*nd.Array // owned by the slot
	ready bool        // state is valid
}

// NewUpdater returns an updater for parameters with the given names; names may be nil.
func NewUpdater(o Optimizer, names []string) (*Updater, error) {
	u := &Updater{opt: o, set: o.Settings(), names: names, slots: map[int]*slot{}}
	if c, ok := u.set.Schedule.(interface{ check() error }); ok {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("optimizer %s: %w", o.Name(), err)
		}
	}
	if u.set.LR < 0 || u.set.LR != u.set.LR {
		return nil, fmt.Errorf("optimizer %s: learning rate %v, want a positive number", o.Name(),
			u.set.LR)
	}
	u.rescale = u.set.Rescale
	if u.rescale == 0 {
		u.rescale = 1
	}
	u.updates = u.set.BeginUpdate
	u.lrMult = map[string]float64{}
	u.wdMult = map[string]float64{}
	for _, n := range names {
		if !decays(o, n) {
			u.wdMult[n] = 0
		}
	}
	maps.Copy(u.lrMult, u.set.LRMult)
	maps.Copy(u.wdMult, u.set.WDMult)
	return u, nil
}

// decays reports whether weight decay applies to a parameter by its name.
func decays(o Optimizer, name string) bool {
	if strings.HasSuffix(name, "_weight") {
		return true
	}
	_, strict := o.(LARS)
	return !strict && strings.HasSuffix(name, "_gamma")
}

// SetAttrs takes multipliers from the attributes of a symbol's variables: __lr_mult__ and
// __wd_mult__. The multipliers of Common take precedence.
func (u *Updater) SetAttrs(attrs map[string]map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		for key, mults := range map[string]map[string]float64{"__lr_mult__": u.lrMult,
			"__wd_mult__": u.wdMult} {
			text, ok := attrs[name][key]
			if !ok {
				continue
			}
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("optimizer: attribute %s of %s: %q is not a number", key, name,
					text)
			}
			mults[name] = v
		}
	}
	maps.Copy(u.lrMult, u.set.LRMult)
	maps.Copy(u.wdMult, u.set.WDMult)
	return nil
}

// SetRescale sets the factor of gradients unless the optimizer's Common.Rescale is set.
func (u *Updater) SetRescale(factor float64) {
	if u.set.Rescale == 0 {
		u.rescale = factor
	}
}

// RescaleBy sets the factor of gradients to Common.Rescale, or 1 without it, times factor.
func (u *Updater) RescaleBy(factor float64) {
	u.rescale = factor
	if u.set.Rescale != 0 {
		u.rescale *= u.set.Rescale
	}
}

// SetMults sets the multipliers of the learning rate and the weight decay of the parameters with a
// name. One that is not set is the optimizer's multiplier for the name, or else 1.
func (u *Updater) SetMults(name string, lr, wd op.Opt[float64]) {
	for _, m := range []struct {
		mults, settings map[string]float64
		value           op.Opt[float64]
	}{{u.lrMult, u.set.LRMult, lr}, {u.wdMult, u.set.WDMult, wd}} {
		v, ok := m.value.Get()
		if !ok {
			v, ok = m.settings[name]
		}
		if ok {
			m.mults[name] = v
		} else {
			delete(m.mults, name)
		}
	}
}

// SetLR sets the learning rate of the updates from now on. It is an error if the optimizer has a
// schedule.
func (u *Updater) SetLR(rate float64) error {
	switch {
	case u.set.Schedule != nil:
		return fmt.Errorf("optimizer %s: SetLR(%v): the schedule %T determines the learning rate",
			u.opt.Name(), rate, u.set.Schedule)
	case rate < 0 || rate != rate:
		return fmt.Errorf("optimizer %s: learning rate %v, want a positive number", u.opt.Name(),
			rate)
	}
	u.rate = op.Some(rate)
	return nil
}

// SetRate returns the learning rate of SetLR, if it has been called.
func (u *Updater) SetRate() (rate float64, ok bool) { return u.rate.Get() }

// String describes the updater by its optimizer and the number of updates.
func (u *Updater) String() string {
	if u == nil {
		return "<Updater: nil>"
	}
	return fmt.Sprintf("<Updater %s: %d updates>", u.opt.Name(), u.updates)
}

// Rescale returns the factor of gradients.
func (u *Updater) Rescale() float64 { return u.rescale }

// Optimizer returns the optimizer that the updater runs.
func (u *Updater) Optimizer() Optimizer { return u.opt }

// Updates returns the largest number of updates of any parameter, which schedules use.
func (u *Updater) Updates() int { return u.updates }

// SetUpdates sets the update count of every parameter to n, to continue a run.
func (u *Updater) SetUpdates(n int) {
	u.updates, u.set.BeginUpdate = n, n
	for _, s := range u.slots {
		s.count = n
	}
}

// LR returns the learning rate before multipliers.
func (u *Updater) LR() float64 {
	if rate, ok := u.rate.Get(); ok {
		return rate
	}
	switch {
	case u.set.Schedule != nil:
		return u.set.Schedule.Rate(u.set.LR, u.updates)
	case u.set.LR != 0:
		return u.set.LR
	}
	return defaultLR
}

// State returns the arrays kept for parameter i, nil before its first update. Under MultiPrecision
// they include the float32 copy of the weight, at MXNet's position.
func (u *Updater) State(i int) []*nd.Array {
	if s := u.slots[i]; s != nil {
		return s.state
	}
	return nil
}

// NewState makes the arrays that the optimizer keeps for a weight before its first update.
func (u *Updater) NewState(weight *nd.Array) []*nd.Array {
	return u.newState(weight, u.mixed(weight))
}

// mixed reports whether a weight is updated through a float32 copy.
func (u *Updater) mixed(weight *nd.Array) bool {
	return u.set.MultiPrecision && weight.DType() == dtype.Float16
}

// SetState replaces the arrays kept for parameter i by arrays that State has returned.
func (u *Updater) SetState(i int, state []*nd.Array) {
	s := u.slot(i)
	s.state, s.ready = state, true
}

func (u *Updater) slot(i int) *slot {
	s := u.slots[i]
	if s == nil {
		s = &slot{count: u.set.BeginUpdate}
		s.step.Index, s.step.Own, s.step.Shared = i, &s.own, &u.shared
		s.step.factor = &u.factor
		if i < len(u.names) {
			s.step.Name = u.names[i]
		}
		u.slots[i] = s
	}
	return s
}

// Update starts the update of parameter i by its gradient. It returns misuse at once; a wait for
// the weight returns failures of the computation.
func (u *Updater) Update(i int, weight, grad *nd.Array) (err error) {
	s := u.slot(i)
	defer func() {
		if err != nil {
			err = fmt.Errorf("optimizer %s: parameter %d %s: %w", u.opt.Name(), i, s.step.Name, err)
		}
	}()
	defer op.Recover(&err)
	mixed := u.mixed(weight)
	if !s.ready {
		s.state, s.ready = u.newState(weight, mixed), true
	}
	u.fill(s)
	if mixed {
		u.updateMixed(s, weight, grad)
		return nil
	}
	if grad.Storage() == nd.RowSparse && arithmetic(u.opt) {
		op.Notice("optimizer %s has no step by rows: a row_sparse gradient changes all rows",
			u.opt.Name())
	}
	s.step.half, s.step.last.bulk = nil, nil
	if _, one := u.opt.(joins); one && u.joining {
		s.step.last.bulk = &u.bulk
	}
	u.opt.Update(&s.step, weight, grad, s.state)
	return nil
}

// arithmetic reports whether the steps of an optimizer are made of operators on whole arrays, which
// take sparse operands and give dense results.
func arithmetic(o Optimizer) bool {
	switch o.(type) {
	case Adamax, Nadam, AdaDelta, DCASGD, SGLD, LARS, LBSGD:
		return true
	}
	return false
}

// rateFirst marks optimizers whose learning rate is computed before the update is counted.
type rateFirst interface{ rateFirst() }

// count counts an update of a parameter and returns its learning rate before multipliers.
func (u *Updater) count(s *slot) (rate float64) {
	_, first := u.opt.(rateFirst)
	if first {
		rate = u.LR()
	}
	s.count++
	u.updates = max(u.updates, s.count)
	if !first {
		rate = u.LR()
	}
	return rate
}

// fill counts the next update and sets the arguments of its step.
func (u *Updater) fill(s *slot) {
	st, rate := &s.step, u.count(s)
	st.Count, st.Rescale, st.Clip = s.count, u.rescale, -1
	if u.set.Clip > 0 {
		st.Clip = u.set.Clip
	}
	st.base, st.LR, st.WD = rate, rate, u.set.WD
	if m, ok := u.lrMult[st.Name]; ok {
		st.LR *= m
	}
	if m, ok := u.wdMult[st.Name]; ok {
		st.WD *= m
	}
}

// masterLast marks optimizers that keep the float32 copy after their own state, as MXNet's SGD
// family does.
type masterLast interface{ masterLast() }

func (u *Updater) newState(weight *nd.Array, mixed bool) []*nd.Array {
	if !mixed {
		return u.opt.State(weight)
	}
	master := weight.AsType(dtype.Float32)
	own := u.opt.State(master)
	if _, last := u.opt.(masterLast); last {
		return append(own, master)
	}
	return append([]*nd.Array{master}, own...)
}

// updateMixed updates the float32 copy of a float16 weight, then the weight from it.
func (u *Updater) updateMixed(s *slot, weight, grad *nd.Array) {
	master, own := s.state[0], s.state[1:]
	if _, last := u.opt.(masterLast); last {
		n := len(s.state) - 1
		master, own = s.state[n], s.state[:n]
	}
	s.step.half, s.step.last.bulk = weight, nil
	g := grad.AsType(dtype.Float32)
	defer g.Close()
	u.opt.Update(&s.step, master, g, own)
	w := master.AsType(weight.DType())
	defer w.Close()
	w.CopyInto(weight)
}
