package checkpoint

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"

	"gomx/op"

	nd "gomx/ndarray"
)

// State is the state of an optimizer for one parameter: an array, a tuple of parts, or nothing if
// both fields are nil. As in MXNet, parts may have parts: an optimizer that keeps float32 weights
// beside half-precision ones has the state (weights, state).
type State struct {
	Array *Record
	Parts []State // parts of a tuple; nil: the state is no tuple
}

// IndexedState is the state of one parameter, which a number or a name identifies.
type IndexedState struct {
	Index int
	Name  string // empty if the file uses numbers
	State State
	Count int // updates of the parameter; 0: the file does not have the optimizer, which knows
}

// maxStateDepth bounds the nesting of parts in files.
const maxStateDepth = 8

// SaveStates writes a .states file, which is a Python pickle that MXNet's Module loads.
func SaveStates(path string, states []IndexedState) error {
	return WriteFile(path, func(w io.Writer) error { return WriteStates(w, states) })
}

// LoadStates reads a .states file. Of the optimizer in files that have one it reads the counts of
// updates.
func LoadStates(path string, opts ...LoadOption) ([]IndexedState, error) {
	var states []IndexedState
	err := readFile(path, func(r io.Reader, _ int64) (err error) {
		states, err = ReadStates(r, opts...)
		return err
	})
	return states, err
}

// StateOf makes a state of arrays: nothing, one array, or a tuple of several. It waits for their
// values.
func StateOf(arrays ...*nd.Array) (s State, err error) {
	defer op.Recover(&err)
	if len(arrays) == 0 {
		return State{}, nil
	}
	parts := make([]State, len(arrays))
	for i, a := range arrays {
		if a == nil {
			continue
		}
		r := &Record{}
		if a.Storage() != nd.Dense {
			err = fillSparse(r, a)
		} else {
			err = fillRecord(r, a, make([]byte, a.Bytes()))
		}
		if err != nil {
			return State{}, err
		}
		parts[i].Array = r
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return State{Parts: parts}, nil
}

// Arrays returns the arrays of s on the processor, including the arrays of its parts in order.
func (s State) Arrays() ([]*nd.Array, error) {
	if s.Parts == nil {
		if s.Array == nil {
			return nil, nil
		}
		a, err := s.Array.array(&room{})
		return []*nd.Array{a}, err
	}
	var list []*nd.Array
	for _, p := range s.Parts {
		arrays, err := p.Arrays()
		if err != nil {
			return nil, err
		}
		list = append(list, arrays...)
	}
	return list, nil
}

// ReadStates decodes the content of a .states file.
func ReadStates(r io.Reader, opts ...LoadOption) ([]IndexedState, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	v, err := unpickle(data)
	if err != nil {
		return nil, err
	}
	var counts map[any]int
	if t, ok := v.(pyTuple); ok && len(t) == 2 { // (states, optimizer)
		v, counts = t[0], updateCounts(t[1])
	}
	d, ok := v.(*pyDict)
	if !ok {
		return nil, fmt.Errorf("the pickle holds a %s, want a dictionary of states", pyType(v))
	}
	var states []IndexedState
	sr := &stateReader{budget: len(data), bytes: newRoom(int64(len(data)), opts),
		arrays: map[*pyObject]*Record{}}
	for i, k := range d.keys {
		s := IndexedState{}
		switch k := k.(type) {
		case int64:
			s.Index = int(k)
		case string:
			s.Name = k
		default:
			return nil, fmt.Errorf("key %d of the states is a %s, want a number or a name", i,
				pyType(k))
		}
		s.Count = counts[k]
		if s.State, err = sr.state(d.values[i], 0); err != nil {
			return nil, fmt.Errorf("state of parameter %v: %w", k, err)
		}
		states = append(states, s)
	}
	return states, nil
}

// stateReader converts the values of a pickle to states. A pickle may refer to one value any number
// of times: each array is decoded once, and the size of the file bounds the number of states and
// the bytes of their arrays.
type stateReader struct {
	budget int
	bytes  *room
	arrays map[*pyObject]*Record
}

func (sr *stateReader) state(v any, depth int) (State, error) {
	if sr.budget--; sr.budget < 0 {
		return State{}, fmt.Errorf("found more states than a file of this size can hold")
	}
	switch v := v.(type) {
	case nil:
		return State{}, nil
	case pyTuple:
		return sr.parts(v, depth)
	case *pyList:
		return sr.parts(v.items, depth)
	case *pyObject:
		if r := sr.arrays[v]; r != nil {
			return State{Array: r}, sr.claim(r)
		}
		raw, err := arrayBytes(v)
		if err != nil {
			return State{}, err
		}
		r, err := DecodeRecord(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return State{}, err
		}
		sr.arrays[v] = r
		return State{Array: r}, sr.claim(r)
	}
	return State{}, fmt.Errorf("a %s, want an array, a tuple or None", pyType(v))
}

// claim adds the bytes of record r to the total, which the size of the file bounds.
func (sr *stateReader) claim(r *Record) error {
	n := int64(len(r.Data))
	for _, x := range r.Aux {
		n += int64(len(x.Data))
	}
	return sr.bytes.take(n, r.Stype, r.DType, r.Shape)
}

func (sr *stateReader) parts(items []any, depth int) (State, error) {
	if depth == maxStateDepth {
		return State{}, fmt.Errorf("tuples nested deeper than %d", maxStateDepth)
	}
	s := State{Parts: make([]State, len(items))}
	for i, item := range items {
		var err error
		if s.Parts[i], err = sr.state(item, depth+1); err != nil {
			return State{}, fmt.Errorf("part %d: %w", i, err)
		}
	}
	return s, nil
}

// arrayBytes returns the raw record of a pickled NDArray: the entry "handle" of its state, a
// bytearray.
func arrayBytes(o *pyObject) ([]byte, error) {
	class, _ := o.class.(pyGlobal)
	d, ok := o.state.(*pyDict)
	if class.name != "NDArray" || !ok {
		return nil, fmt.Errorf("an object of class %s.%s, want an NDArray", class.module,
			class.name)
	}
	for i, k := range d.keys {
		if k != "handle" {
			continue
		}
		v := d.values[i]
		if b, ok := v.(*pyObject); ok && len(b.args) > 0 { // bytearray(bytes)
			v = b.args[0]
		}
		switch v := v.(type) {
		case []byte:
			return v, nil
		case string:
			return []byte(v), nil
		}
		return nil, fmt.Errorf("an NDArray whose handle is a %s, want bytes", pyType(v))
	}
	return nil, fmt.Errorf("an NDArray without handle, want one of bytes")
}

// pyType returns Python's name of a value's type, for errors.
func pyType(v any) string {
	switch v.(type) {
	case nil:
		return "None"
	case pyTuple:
		return "tuple"
	case *pyList:
		return "list"
	case *pyDict:
		return "dict"
	case pyGlobal, *pyObject:
		return "Python object"
	}
	return fmt.Sprintf("%T", v)
}

// WriteStates encodes states as MXNet's updater pickles them.
func WriteStates(w io.Writer, states []IndexedState) error {
	p := &pickler{w: bufio.NewWriter(w)}
	p.op(0x80, 3)
	if err := p.states(states); err != nil {
		return err
	}
	p.op('.')
	if p.err == nil {
		p.err = p.w.Flush()
	}
	return p.err
}

// states writes the dictionary of states.
func (p *pickler) states(states []IndexedState) error {
	p.op('}')
	for _, s := range states {
		switch {
		case s.Name != "":
			p.str(s.Name)
		case s.Index >= math.MinInt32 && s.Index <= math.MaxInt32:
			p.int(s.Index)
		default:
			return fmt.Errorf("checkpoint: parameter number %d, want a number of 32 bits", s.Index)
		}
		if err := p.state(s.State, 0); err != nil {
			return fmt.Errorf("checkpoint: state of parameter %d %q: %w", s.Index, s.Name, err)
		}
		p.op('s')
	}
	return p.err
}

func (p *pickler) state(s State, depth int) error {
	switch {
	case depth > maxStateDepth:
		return fmt.Errorf("parts nested deeper than %d", maxStateDepth)
	case s.Parts != nil:
		p.op('(')
		for _, part := range s.Parts {
			if err := p.state(part, depth+1); err != nil {
				return err
			}
		}
		p.op('t')
		return nil
	case s.Array == nil:
		p.op('N')
		return nil
	}
	var raw bytes.Buffer
	if err := EncodeRecord(&raw, s.Array); err != nil {
		return err
	}
	p.global("mxnet.ndarray.ndarray", "NDArray")
	p.op('N')
	p.op(0x85)
	p.op('R')
	p.op('}')
	p.str("handle")
	p.global("builtins", "bytearray")
	p.bytes(raw.Bytes())
	p.op(0x85)
	p.op('R')
	p.op('s')
	p.op('b')
	return p.err
}
