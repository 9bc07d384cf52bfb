package ndarray_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"gomx/dtype"
	nd "gomx/ndarray"
	"gomx/op"
)

// call calls a method with arguments that are zero but for slices of one nil array, and returns
// what it panics with.
func call(m reflect.Value, t reflect.Type) (problem any) {
	args := make([]reflect.Value, t.NumIn())
	for i := range args {
		args[i] = reflect.Zero(t.In(i))
	}
	defer func() { problem = recover() }()
	if t.IsVariadic() {
		m.CallSlice(args)
	} else {
		m.Call(args)
	}
	return nil
}

// TestNilReceivers: every method of a nil array panics with an error of the library, never with
// that of the runtime.
func TestNilReceivers(t *testing.T) {
	var a *nd.Array
	v := reflect.ValueOf(a)
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		if name == "Format" {
			// it is for package fmt, which never passes a nil state and catches panics itself
			continue
		}
		switch p := call(v.Method(i), v.Method(i).Type()).(type) {
		case *op.Error:
			if !strings.Contains(p.Error(), "nil") {
				t.Errorf("%s: %v, want an error that says that the array is nil", name, p)
			}
		case nil:
			if name == "String" {
				continue // printing never panics
			}
			t.Errorf("%s of a nil array does not panic", name)
		default:
			t.Errorf("%s of a nil array panics with %T: %v", name, p, p)
		}
	}
}

// TestNilArguments: a method that is handed zeros and nil arrays never panics with an error of the
// runtime.
func TestNilArguments(t *testing.T) {
	for i := range reflect.TypeFor[*nd.Array]().NumMethod() {
		if reflect.TypeFor[*nd.Array]().Method(i).Name == "Format" {
			continue // package fmt never passes a nil state
		}
		a := nd.Ones(nd.Shape{2, 2})
		m := reflect.ValueOf(a).Method(i)
		if p, bad := call(m, m.Type()).(runtime.Error); bad {
			t.Errorf("%s with zero arguments panics with %v",
				reflect.TypeFor[*nd.Array]().Method(i).Name, p)
		}
	}
}

// TestNilOperands: an operator called with nil arrays returns an error that names it and the
// operand.
func TestNilOperands(t *testing.T) {
	for _, o := range op.All() {
		p, err := o.Normalize(nil)
		if err != nil || o.Variadic {
			continue
		}
		in := make([]*nd.Array, len(o.Inputs(p)))
		if len(in) == 0 {
			continue
		}
		_, err = nd.Invoke(o, p, in, nil)
		if want := fmt.Sprintf("%s: %s: the array is nil", o.Name,
			o.Inputs(p)[0].Name); err == nil || !strings.Contains(err.Error(), "the array is nil") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	defer func() {
		if e, ok := recover().(*op.Error); !ok || e.Op != "elemwise_add" || e.Arg != "rhs" {
			t.Errorf("Add(nil) panics with %v, want an *op.Error that names operator and argument",
				e)
		}
	}()
	nd.Ones(nd.Shape{2}).Add(nil)
}

// TestInvalidTypes: an element type that does not exist is an error wherever an array is made.
func TestInvalidTypes(t *testing.T) {
	bad := dtype.Type(99)
	for name, f := range map[string]func(){
		"Zeros":  func() { nd.Zeros(nd.Shape{2}, nd.As(bad)) },
		"Empty":  func() { nd.Empty(nd.Shape{2}, nd.As(dtype.Unknown)) },
		"Arange": func() { nd.Arange(0, 3, 1, nd.As(bad)) },
		"AsType": func() { nd.Ones(nd.Shape{2}).AsType(bad) },
		"Cast":   func() { nd.Cast(nd.Ones(nd.Shape{2}), nd.CastParams{DType: bad}) },
		"Normal": func() { nd.Normal(0, 1, nd.Shape{2}, nd.As(bad)) },
	} {
		func() {
			defer func() {
				p := recover()
				if e, ok := p.(*op.Error); !ok || !strings.Contains(e.Error(), "type") {
					t.Errorf("%s: %v, want an *op.Error that names the type", name, p)
				}
			}()
			f()
		}()
	}
}
