package op

import "encoding/json"

// Opt is an optional value: the zero Opt is unset. Parameters whose zero value differs from
// their default and is legal have this type.
//
// A parameter whose default is a value can also be told to have none, as MXNet's axis=None does:
// that is None, which unlike the zero Opt does not take the default.
type Opt[T any] struct {
	value T
	set   bool
	none  bool
}

// Some returns a set Opt.
func Some[T any](v T) Opt[T] { return Opt[T]{value: v, set: true} }

// None returns an Opt without a value that stays so where the parameter has a default.
func None[T any]() Opt[T] { return Opt[T]{none: true} }

// Get returns the value and whether it is set.
func (o Opt[T]) Get() (T, bool) { return o.value, o.set }

// Or returns the value, or v when o is unset.
func (o Opt[T]) Or(v T) T {
	if o.set {
		return o.value
	}
	return v
}

// Value returns the value, the zero value of T when o is unset. Parameters with a default tag
// are set by the time an operator sees them.
func (o Opt[T]) Value() T { return o.value }

// IsSet reports whether o holds a value.
func (o Opt[T]) IsSet() bool { return o.set }

// MarshalJSON writes the value, null when there is none. Fields with the option omitzero leave out
// an unset Opt.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.set {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads a value, or null for none.
func (o *Opt[T]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*o = None[T]()
		return nil
	}
	var v T
	err := json.Unmarshal(data, &v)
	if err == nil {
		*o = Some(v)
	}
	return err
}

// optional is how the parameter codec reaches into an Opt of any type.
type optional interface {
	target() any // pointer to the value
	mark(set bool)
	isSet() bool
	given() bool // set, or told to have no value
}

func (o *Opt[T]) target() any   { return &o.value }
func (o *Opt[T]) mark(set bool) { o.set, o.none = set, !set }
func (o *Opt[T]) isSet() bool   { return o.set }
func (o *Opt[T]) given() bool   { return o.set || o.none }
