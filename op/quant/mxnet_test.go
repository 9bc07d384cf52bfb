package quant_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
)

// stored is an array of mxnet.json.
type stored struct {
	DType string
	Shape []int
	Data  []float64
}

func (s stored) tensor(t *testing.T) op.Tensor {
	t.Helper()
	typ, err := dtype.Parse(s.DType)
	if err != nil {
		t.Fatal(err)
	}
	x := optest.New(typ, s.Shape...)
	loop.Store(x, 0, s.Data)
	return x
}

// TestAgainstMXNet compares with the results that testdata/make.py wrote: integers exactly.
func TestAgainstMXNet(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "mxnet.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Op      string
			Attrs   map[string]string
			In, Out []stored
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Error("no cases")
	}
	for i, c := range file.Cases {
		o, err := op.Find(c.Op)
		if err != nil {
			t.Error(err)
			continue
		}
		run := optest.Case{Name: fmt.Sprint(i, c.Attrs), Attrs: c.Attrs,
			Tol: optest.Tolerance{Abs: 1e-30, Rel: 2e-6}}
		for _, s := range c.In {
			run.In = append(run.In, s.tensor(t))
		}
		for _, s := range c.Out {
			run.Want = append(run.Want, s.tensor(t))
		}
		optest.Run(t, o, run)
	}
}
