package oracle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/internal/oracle"
	"gomx/op"

	nd "gomx/ndarray"
	sym "gomx/symbol"
)

var draft = flag.String("oracle.draft", "", "file to which TestFileOfOperators writes a graph of all operators for testdata/operators.py")

// node is a node of a symbol file.
type node struct {
	Op     string            `json:"op"`
	Name   string            `json:"name"`
	Attrs  map[string]string `json:"attrs,omitempty"`
	Inputs [][3]int          `json:"inputs"`
}

// drafted are two nodes of every operator with variables of their own, which carry shapes and element
// types. The attributes of the second are spelled otherwise, as MXNet reads them too.
func drafted() (nodes []node) {
	for _, o := range op.All() {
		if o.Hidden || o.NumGraphs() > 0 || o.Name == "reset_arrays" { // which has no output
			continue
		}
		found := 0
		for n := range uint64(400) {
			c, ok := oracle.Generate(o, n)
			if !ok || found == 2 || len(c.Attrs) == 0 && found == 1 {
				continue
			}
			if slices.ContainsFunc(c.In, func(x oracle.Operand) bool { return x.Shape.Size() == 0 }) ||
				c.Attrs["np_shape"] != "" || c.Attrs["shape"] == "()" || c.Run().Error != "" {
				continue
			}
			attrs := maps.Clone(c.Attrs)
			if attrs == nil {
				attrs = map[string]string{}
			}
			if found == 1 {
				for k, v := range attrs {
					attrs[k] = respelled(v)
				}
			}
			for _, p := range o.Params() {
				if params, err := o.ParseParams(attrs); p.Auto && err == nil {
					attrs[p.Name] = o.FormatParams(o.WithCount(params, len(c.In)))[p.Name]
				}
			}
			found++
			changed := map[int]int{} // how often the node changes its inputs
			if params, err := o.ParseParams(attrs); err == nil {
				for _, i := range o.Changes(o.WithCount(params, len(c.In))) {
					changed[i] = 1
				}
			}
			x := node{Op: o.Name, Name: fmt.Sprintf("%s_%d", o.Name, found), Attrs: attrs,
				Inputs: [][3]int{}}
			for i, in := range c.In {
				x.Inputs = append(x.Inputs, [3]int{len(nodes), 0, changed[i]})
				nodes = append(nodes, node{Op: "null", Name: fmt.Sprintf("%s_in%d", x.Name, i),
					Attrs: map[string]string{"__shape__": in.Shape.String(),
						"__dtype__": fmt.Sprint(int(in.DType))}, Inputs: [][3]int{}})
			}
			nodes = append(nodes, x)
		}
	}
	return nodes
}

// respelled is another text of an attribute with the same meaning.
func respelled(v string) string {
	switch {
	case v == "True":
		return "1"
	case v == "False":
		return "0"
	case strings.HasPrefix(v, "("):
		return strings.NewReplacer("(", "[", ",)", "]", ")", "]").Replace(v)
	}
	return v
}

// empties is an operator that refuses the empty regions that random corners make.
const empties = "_contrib_ROIAlign"

// TestFileOfOperators loads a file that MXNet wrote with nodes of all operators: it is written back
// byte for byte, and every node infers its shapes and runs.
func TestFileOfOperators(t *testing.T) {
	if *draft != "" {
		text, err := json.Marshal(drafted())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(*draft, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join("testdata", "operators-symbol.json"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := sym.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	back, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	lines, want := strings.Split(string(back), "\n"), strings.Split(string(text), "\n")
	for i := range want {
		if i >= len(lines) || lines[i] != want[i] {
			t.Errorf("line %d differs: got %q, want %q", i+1, lines[min(i, len(lines)-1)], want[i])
			break
		}
	}
	if !bytes.Equal(back, text) && len(lines) != len(want) {
		t.Errorf("%d lines, want %d", len(lines), len(want))
	}
	for _, n := range s.Nodes() {
		if n.IsVar() {
			continue
		}
		var outs []op.Entry
		for i := range n.NumVisible() {
			outs = append(outs, n.Entry(i))
		}
		one := sym.FromEntries(outs...)
		if slices.ContainsFunc(n.In, func(e op.Entry) bool { return !e.Node.IsVar() }) {
			t.Errorf("%s has an input that is no variable", n.Name)
		}
		if err := bindAndRun(one); err != nil && n.Op.Name != empties {
			t.Errorf("%s: %v", n.Name, err)
		}
	}
}

// bindAndRun runs a symbol once with numbers between zero and one.
func bindAndRun(s *sym.Symbol) (err error) {
	defer op.Recover(&err)
	ex, err := s.SimpleBind(sym.BindConfig{})
	if err != nil {
		return err
	}
	defer ex.Close()
	for _, arrays := range []map[string]*nd.Array{ex.Args, ex.Aux} {
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			a := arrays[name]
			x := nd.Uniform(0.1, 1, a.Shape(), nd.Seed(1))
			a.Set(nd.Cast(x, nd.CastParams{DType: a.DType()}))
		}
	}
	if err := ex.Forward(false); err != nil {
		return err
	}
	for _, o := range ex.Outputs() {
		if err := o.Wait(context.Background()); err != nil {
			return err
		}
	}
	return nil
}
