package trainer

import (
	"encoding/json"
	"fmt"
	"strconv"

	"gomx/checkpoint"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// ParamRecord holds the optimizer's counts and numbers for a parameter.
type ParamRecord struct {
	Count   int  `json:"count"`
	Updates int  `json:"updates"`
	Own     Pair `json:"own"`
	Shared  Pair `json:"shared"`
	States  int  `json:"states"` // arrays; -1: it has not been updated
	// the file has the sum of an incomplete batch
	Collected bool `json:"collected,omitempty"`
}

// Exact is a number that JSON keeps as it is: NaN and the infinities too.
type Exact float64

// MarshalJSON writes the shortest text that reads back as the same number.
func (e Exact) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatFloat(float64(e), 'g', -1, 64)), nil
}

// UnmarshalJSON reads the number that MarshalJSON has written.
func (e *Exact) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	v, err := strconv.ParseFloat(text, 64)
	*e = Exact(v)
	return err
}

// Pair is an optimizer.Memory in a file.
type Pair [2]Exact

func (p Pair) memory() optimizer.Memory {
	return optimizer.Memory{float64(p[0]), float64(p[1])}
}

// pairOf returns m as a file holds it.
func pairOf(m optimizer.Memory) Pair { return Pair{Exact(m[0]), Exact(m[1])} }

// UnmarshalJSON reads a pair.
func (p *Pair) UnmarshalJSON(b []byte) error {
	var list []Exact
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if len(list) != len(p) {
		return fmt.Errorf("%d numbers, want %d", len(list), len(p))
	}
	copy(p[:], list)
	return nil
}

// MarshalJSON writes a pair.
func (p Pair) MarshalJSON() ([]byte, error) { return json.Marshal(p[:]) }

// record describes the optimizer's counts and numbers of every parameter.
func (t *Trainer) record() (list []ParamRecord) {
	for i := range t.params {
		p := t.updater.Progress(i)
		states := -1
		if t.updated(i) {
			states = len(t.updater.State(i))
		}
		list = append(list, ParamRecord{p.Count, p.Updates, pairOf(p.Own), pairOf(p.Shared),
			states, t.updater.Collected(i) != nil})
	}
	return list
}

// Arrays lists the arrays of the optimizer by the names that they have in the file of a run.
func (t *Trainer) Arrays() (list []checkpoint.Named) {
	for i := range t.params {
		for k, a := range t.updater.State(i) {
			if a != nil {
				list = append(list, checkpoint.Named{Name: stateKey(i, k), Array: a})
			}
		}
		if a := t.updater.Collected(i); a != nil {
			list = append(list, checkpoint.Named{Name: sumKey(i), Array: a})
		}
	}
	return list
}

// The names of the optimizer's arrays in the file of a run.
func stateKey(param, k int) string { return fmt.Sprintf("state:%d:%d", param, k) }
func sumKey(param int) string      { return fmt.Sprintf("sum:%d", param) }

// Restore takes over the counts and arrays that Describe and Arrays have listed, in an updater that
// has updated nothing.
func (t *Trainer) Restore(r *Run, arrays map[string]*nd.Array) error {
	if len(r.Params) != len(t.params) {
		return fmt.Errorf("it has %d parameters, the network %d", len(r.Params), len(t.params))
	}
	for i, p := range r.Params {
		t.updater.SetProgress(i, optimizer.Progress{Count: p.Count, Updates: p.Updates,
			Own: p.Own.memory(), Shared: p.Shared.memory()})
		if err := t.restoreState(i, p, arrays); err != nil {
			return err
		}
	}
	return nil
}

// restoreState takes over the optimizer's states of a parameter.
func (t *Trainer) restoreState(i int, p ParamRecord, arrays map[string]*nd.Array) error {
	if p.States < 0 && !p.Collected {
		return nil
	}
	if len(t.params[i].Weights) == 0 {
		return fmt.Errorf("parameter %s has states and no values", t.params[i].Name)
	}
	weight := t.params[i].Weights[0]
	if p.States >= 0 {
		state := t.updater.NewState(weight)
		if len(state) != p.States {
			return fmt.Errorf("parameter %s has %d states, optimizer %s wants %d", t.params[i].Name,
				p.States, t.updater.Optimizer().Name(), len(state))
		}
		for k, a := range state {
			if a == nil {
				continue
			}
			if err := CopySame(stateKey(i, k), arrays[stateKey(i, k)], a); err != nil {
				return err
			}
		}
		t.updater.SetState(i, state)
	}
	if !p.Collected {
		return nil
	}
	typ := weight.DType()
	if a := arrays[sumKey(i)]; a != nil {
		typ = a.DType() // the type of the float32 copy, if the optimizer keeps one
	}
	sum := nd.Empty(weight.Shape(), nd.As(typ), nd.On(weight.Device()), nd.Using(weight.Engine()))
	if err := CopySame(sumKey(i), arrays[sumKey(i)], sum); err != nil {
		return err
	}
	t.updater.SetCollected(i, sum)
	return nil
}

// CopySame copies an array of a file into one of its shape and type.
func CopySame(name string, from, to *nd.Array) error {
	switch {
	case from == nil:
		return fmt.Errorf("array %q is missing", name)
	case !from.Shape().Equal(to.Shape()) || from.DType() != to.DType():
		return fmt.Errorf("array %q is %v of shape %v, want %v of shape %v", name, from.DType(),
			from.Shape(), to.DType(), to.Shape())
	}
	from.CopyInto(to)
	return nil
}
