package gluon

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"text/tabwriter"

	nd "gomx/ndarray"
	"gomx/op"
)

// Summary is a table of a network as it infers for some arguments.
type Summary struct {
	Inputs []nd.Shape
	Rows   []SummaryRow // in the order of the first calls

	Parameters int64 // numbers in all parameters, each counted once
	Trainable  int64 // of Parameters, those with a gradient
	Shared     int64 // numbers that rows count again, because two blocks hold the parameter
	FLOPs      int64 // of one call; a multiplication with an addition counts as two
}

// SummaryRow describes one block. Parameters and operators of its parts belong to the rows of the
// parts, if there are some.
type SummaryRow struct {
	Path       string // as Apply says; empty for the network itself
	Type       string // Go type without the package
	Calls      int    // in one call of the network
	Outputs    []nd.Shape
	Parameters int64 // numbers, of those that an earlier row has counted too
	Trainable  int64 // of Parameters
	Shared     int64 // of Parameters: numbers that an earlier row has counted
	FLOPs      int64 // of all calls
}

// Summary describes the network for arguments of the shapes, types and devices of in, whose values
// do not matter. It traces the network in inference and computes nothing; parameters have been
// given values by Init or Load, and get the shapes that follow from the arguments.
//
// There is a row for each layer of packages nn and rnn, for each block that embeds [Hooks], for
// each block that a container such as nn.Sequential calls, and for the network itself. Other blocks
// belong to the row of the block around them. Containers that have no parameters or operators of
// their own are left out.
//
// MXNet: gluon.Block.summary.
func (n *Net) Summary(in ...*nd.Array) (s *Summary, err error) {
	defer op.Recover(&err)
	if len(in) == 0 {
		return nil, errors.New("gluon: Summary: no arguments, want arrays of the shapes of a call")
	}
	t := &tally{places: map[any]string{}, rows: map[string]*tallyRow{}}
	apply(child{block: n.root}, "", t.place)
	if err := t.trace(n, in); err != nil {
		return nil, fmt.Errorf("gluon: Summary: %w", err)
	}
	s = &Summary{}
	for _, a := range in {
		s.Inputs = append(s.Inputs, a.Shape())
	}
	s.count(t, n.Params())
	return s, nil
}

// tally collects the facts of a Summary while the network is traced. The traced arrays lead to it.
type tally struct {
	places map[any]string // paths of blocks by their pointers, and by the places that hold them

	mu    sync.Mutex // guards the fields below
	rows  map[string]*tallyRow
	order []*tallyRow
	stack []*frame // calls under way, the innermost last
}

// tallyRow is a row and the number of operators that it has.
type tallyRow struct {
	SummaryRow
	operators int
	inner     bool // other rows lie within it
}

// frame is a call of a block under way.
type frame struct {
	block any
	row   *tallyRow
	again bool // the call of a container and of the block itself are one
}

// place notes the path of a block.
func (t *tally) place(path string, c child) {
	if reflect.ValueOf(c.block).Kind() == reflect.Pointer {
		if _, ok := t.places[c.block]; !ok {
			t.places[c.block] = path
		}
	}
	if c.place.IsValid() && c.place.CanAddr() {
		t.places[c.place.Addr().Interface()] = path
	}
}

// trace calls the network with traced arrays.
func (t *tally) trace(n *Net, in []*nd.Array) error {
	tr := nd.NewTracing(in[0].Engine(), in[0].Device(), false, false)
	defer tr.Abandon()
	tr.Listen(t)
	args := make([]*nd.Array, len(in))
	for i, a := range describe(in) {
		args[i] = tr.Input(a.name, a.shape, a.typ)
	}
	t.rows[""] = &tallyRow{SummaryRow: SummaryRow{Type: typeName(n.root)}}
	t.order = []*tallyRow{t.rows[""]}
	root := t.enter(n.root, nil)
	out := n.call(args)
	t.leave(root, out)
	_, err := tr.Finish(out)
	return err
}

// enter implements observer.
func (t *tally) enter(block, place any) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := &frame{block: block}
	path := ""
	if k := len(t.stack); k > 0 {
		top := t.stack[k-1]
		if reflect.ValueOf(block).Kind() == reflect.Pointer && samePointer(top.block, block) {
			f.row, f.again = top.row, true
			return f
		}
		path = top.row.Path
		if reflect.ValueOf(place).Kind() == reflect.Pointer {
			if p, known := t.places[place]; known {
				path = p
			}
		}
		top.row.inner = top.row.inner || path != top.row.Path
	}
	if f.row = t.rows[path]; f.row == nil {
		f.row = &tallyRow{SummaryRow: SummaryRow{Path: path, Type: typeName(block)}}
		t.rows[path], t.order = f.row, append(t.order, f.row)
	}
	t.stack = append(t.stack, f)
	return f
}

// samePointer reports whether a is the pointer b.
func samePointer(a, b any) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && a == b
}

// leave implements observer.
func (t *tally) leave(mark any, out []*nd.Array) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := mark.(*frame)
	if f.again {
		return
	}
	for k := len(t.stack) - 1; k >= 0; k-- {
		if t.stack[k] == f {
			t.stack = t.stack[:k]
			break
		}
	}
	f.row.Calls++
	f.row.Outputs = nil
	for _, a := range out {
		f.row.Outputs = append(f.row.Outputs, a.Shape())
	}
}

// Recorded implements ndarray.Listener.
func (t *tally) Recorded(o *op.Op, params any, in, out []op.Desc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	row := t.order[0]
	if k := len(t.stack); k > 0 {
		row = t.stack[k-1].row
	}
	row.operators++
	row.FLOPs += o.Cost(params, in, out).FLOPs
}

// typeName returns the type of a block without its package.
func typeName(block any) string {
	if h, ok := block.(holder); ok {
		return typeName(h.Held())
	}
	name := strings.TrimLeft(reflect.TypeOf(block).String(), "*")
	return name[strings.LastIndexByte(name, '.')+1:]
}

// count gives the parameters to the rows and adds everything up.
func (s *Summary) count(t *tally, params *Params) {
	seen := map[*Param]bool{}
	for name, p := range params.All() {
		row := t.holder(name)
		size := int64(0)
		if a := p.Data(); a != nil {
			size = int64(a.Shape().Size())
		}
		row.Parameters += size
		if p.request() != nd.GradNull {
			row.Trainable += size
		}
		if seen[p] {
			row.Shared += size
			s.Shared += size
			continue
		}
		seen[p] = true
		s.Parameters += size
		if p.request() != nd.GradNull {
			s.Trainable += size
		}
	}
	for _, r := range t.order {
		if r.inner && r.Parameters == 0 && r.operators == 0 {
			continue
		}
		s.Rows = append(s.Rows, r.SummaryRow)
		s.FLOPs += r.FLOPs
	}
}

// holder returns the row of the innermost block that a parameter is a part of.
func (t *tally) holder(name string) *tallyRow {
	for {
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			return t.rows[""]
		}
		name = name[:i]
		if r := t.rows[name]; r != nil {
			return r
		}
	}
}

// String returns the table as text.
func (s *Summary) String() string {
	var b strings.Builder
	s.WriteTable(&b) // a Builder has no errors
	return b.String()
}

// WriteTable writes a line for every row and the totals below.
func (s *Summary) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "block\ttype\toutput\tparameters\ttrainable\tshared\tFLOPs\n")
	fmt.Fprintf(t, "(input)\t\t%s\t-\t-\t-\t-\n", shapes(s.Inputs))
	for _, r := range s.Rows {
		path, kind := r.Path, r.Type
		if path == "" {
			path = "(network)"
		}
		if r.Calls != 1 {
			kind += fmt.Sprintf(" ×%d", r.Calls)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", path, kind, shapes(r.Outputs),
			orDash(r.Parameters), orDash(r.Trainable), orDash(r.Shared), orDash(r.FLOPs))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d parameters: %d trainable, %d fixed; %d more are shared\n"+
		"%d FLOPs\n", s.Parameters, s.Trainable, s.Parameters-s.Trainable, s.Shared, s.FLOPs)
	return err
}

// shapes writes shapes one after the other.
func shapes(list []nd.Shape) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = fmt.Sprint(s)
	}
	return strings.Join(parts, " ")
}

// orDash writes a number; zero is a dash.
func orDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
