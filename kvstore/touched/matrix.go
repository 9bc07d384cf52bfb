package touched

import (
	"fmt"

	"gomx/engine"
	"gomx/kvstore/rows"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/loop"
)

// Matrix is a matrix of which a row_sparse array stores the touched rows. Its methods start
// operations of the engine that use the array and the operands, and return. A Matrix is a small
// value that describes the array; the array belongs to the caller.
type Matrix struct {
	Array *nd.Array
	// Begin says how the rows begin that the array does not store: by Key and Init. With Init.Scale
	// 0 they are zeros.
	Begin rows.Spec
}

// work is the argument of an operation.
type work struct {
	call  string // name of the caller's operation, for errors
	begin rows.Spec
	value *op.Sparse // of the matrix
	from  *op.Sparse // rows to be touched; nil: ids has their numbers
	put   bool       // the matrix takes the rows of from
	ids   *op.Tensor // numbers of rows; nil: of from, or else all
	to    *op.Sparse // of Read
}

// Touch makes the array store the rows that ids numbers, in any order. Values of rows do not
// change: tapes that have recorded the array stay valid.
func (m Matrix) Touch(ids *nd.Array) {
	t := ids.Tensor()
	m.push(&engine.Task{Name: "touch of rows", Fn: runTouch}, &work{call: "touch of rows", ids: &t},
		engine.Use{Var: m.Array.Var(), Access: engine.Update},
		engine.Use{Var: ids.Var(), Access: engine.Read})
}

// TouchLike makes the array store the rows that another row_sparse array of its shape stores. With
// put they take the values of the other array.
func (m Matrix) TouchLike(other *nd.Array, put bool) {
	m.merge("touch of rows", other, put)
	if put {
		m.Array.Touch()
	}
}

// Join makes the array store the rows of another row_sparse array of its shape, with their values. It
// does not store them yet, and they are the values of these rows: tapes stay valid.
func (m Matrix) Join(other *nd.Array) {
	m.merge("rows joined", other, true)
}

// merge starts the operation of TouchLike and Join.
func (m Matrix) merge(name string, other *nd.Array, put bool) {
	m.push(&engine.Task{Name: name, Fn: runTouch}, &work{from: other.Stored(), put: put},
		engine.Use{Var: m.Array.Var(), Access: engine.Update},
		engine.Use{Var: other.Var(), Access: engine.Read})
}

// Read copies the rows that ids numbers, all rows without ids, into a row_sparse array. The name of
// the caller's operation is for the error of a number out of range.
func (m Matrix) Read(call string, to, ids *nd.Array) {
	w := &work{call: call, to: to.Stored()}
	uses := []engine.Use{{Var: m.Array.Var(), Access: engine.Read}, {Var: to.Var(),
		Access: engine.Overwrite}}
	if ids != nil {
		t := ids.Tensor()
		w.ids = &t
		uses = append(uses, engine.Use{Var: ids.Var(), Access: engine.Read})
	}
	m.push(&engine.Task{Name: "read of rows", Fn: runRead}, w, uses...)
	to.Touch()
}

// push starts an operation.
func (m Matrix) push(t *engine.Task, w *work, uses ...engine.Use) {
	w.begin, w.value = m.Begin, m.Array.Stored()
	t.Arg = w
	m.Array.Engine().PushUses(t, uses...)
}

// runTouch is the body of Touch, TouchLike and Join.
func runTouch(run *engine.Run) error {
	w := run.Arg.(*work)
	var list []int64
	if w.from != nil {
		list = w.from.Indices
	} else {
		var err error
		if list, err = w.numbers(); err != nil {
			return err
		}
	}
	w.begun(w.value, loop.Insert(w.value, list))
	if w.put {
		row := w.from.Row() * w.from.DType.Size()
		at := 0
		for i, id := range w.from.Indices {
			at += loop.Search(w.value.Indices[at:], id)
			copy(w.value.Bytes()[at*row:(at+1)*row], w.from.Bytes()[i*row:])
		}
	}
	return nil
}

// runRead is the body of Read.
func runRead(run *engine.Run) error {
	w := run.Arg.(*work)
	list, err := w.numbers()
	if err != nil {
		return err
	}
	w.to.Room(len(list))
	copy(w.to.Indices, list)
	w.gather(w.to, w.value)
	return nil
}

// numbers returns the numbers of the operation's rows.
func (w *work) numbers() ([]int64, error) {
	list, err := Numbers(w.ids, uint64(w.value.Shape[0]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.call, err)
	}
	ids := make([]int64, len(list))
	for i, id := range list {
		ids[i] = int64(id)
	}
	return ids, nil
}

// gather gives out, whose indices are set, their rows: of from, or as they begin.
func (w *work) gather(out, from *op.Sparse) {
	loop.Retain(out, from, 1)
	if w.begin.Init.Scale == 0 {
		return
	}
	var fresh []int
	at := 0
	for i, id := range out.Indices {
		at += loop.Search(from.Indices[at:], id)
		if at == from.N || from.Indices[at] != id {
			fresh = append(fresh, i)
		}
	}
	w.begun(out, fresh)
}

// begun gives rows of s, named by their places, the values that they begin with.
func (w *work) begun(s *op.Sparse, places []int) {
	row := s.Row() * s.DType.Size()
	for _, i := range places {
		to := s.Bytes()[i*row : (i+1)*row]
		if w.begin.Init.Scale == 0 {
			clear(to)
		} else {
			w.begin.Init.Fill(to, s.DType, w.begin.Key, uint64(s.Indices[i]))
		}
	}
}
