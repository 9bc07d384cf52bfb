package predict_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gomx/checkpoint/npy"
	"gomx/device"
	nd "gomx/ndarray"
	"gomx/predict"
)

// onnxRun is a stored run of a model by ONNX Runtime.
type onnxRun struct {
	in   map[string]*nd.Array
	want map[string]*nd.Array
}

// onnxRuns reads the runs of a model of testdata/onnx.
func onnxRuns(t *testing.T, name string) (runs []onnxRun) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "onnx", name+".*.npz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d runs of %s, %v", len(files), name, err)
	}
	for _, file := range files {
		list, err := npy.LoadZip(file)
		if err != nil {
			t.Fatal(err)
		}
		r := onnxRun{map[string]*nd.Array{}, map[string]*nd.Array{}}
		for _, a := range list {
			if in, ok := strings.CutPrefix(a.Name, "in/"); ok {
				r.in[in] = a.Array
			} else {
				r.want[strings.TrimPrefix(a.Name, "out/")] = a.Array
			}
		}
		runs = append(runs, r)
	}
	return runs
}

// loadONNX opens a model of testdata/onnx.
func loadONNX(t *testing.T, name string, opts ...predict.Option) *predict.ONNX {
	t.Helper()
	p, err := predict.LoadONNX(filepath.Join("testdata", "onnx", name+".onnx"), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// compare runs a model once and compares the outputs.
func (r onnxRun) compare(ctx context.Context, p *predict.ONNX) error {
	outs, err := p.Predict(ctx, r.in)
	if err != nil {
		return err
	}
	if len(outs) != len(r.want) {
		return fmt.Errorf("%d outputs, want %d", len(outs), len(r.want))
	}
	for _, o := range outs {
		if r.want[o.Name] == nil {
			return fmt.Errorf("output %q, which ONNX Runtime does not have", o.Name)
		}
		if d, err := difference(o.Array, r.want[o.Name]); err != nil || !(d <= 1e-6) {
			return fmt.Errorf("output %q differs by %v, %w", o.Name, d, err)
		}
		o.Array.Close()
	}
	return nil
}

// TestONNXShapes runs stored models, whose shapes change from run to run, from many goroutines, with
// place for fewer shapes than there are and with place for all.
func TestONNXShapes(t *testing.T) {
	for _, name := range []string{"rows", "choice", "constant", "branches"} {
		runs := onnxRuns(t, name)
		for _, kept := range []int{1, 2, 8} {
			t.Run(fmt.Sprint(name, kept), func(t *testing.T) {
				p := loadONNX(t, name, predict.Shapes(kept), predict.InFlight(2))
				var wg sync.WaitGroup
				for g := range 8 {
					wg.Go(func() {
						for i := range 6 {
							k := (g + i) % len(runs)
							if err := runs[k].compare(t.Context(), p); err != nil {
								t.Errorf("run %d: %v", k, err)
								return
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// TestONNXSwitches: a model is compiled for each value of inputs that choose branches, until one of
// them has more values than models are kept.
func TestONNXSwitches(t *testing.T) {
	runs := onnxRuns(t, "branches")
	for _, c := range []struct {
		kept, values, models int
		fixed                []string
	}{
		{8, 3, 3, []string{"mode", "up"}}, {16, 12, 12, []string{"mode", "up"}},
		{16, 1, 1, []string{"mode", "up"}}, {5, 12, 5, []string{"up"}}, {1, 12, 1, nil},
	} {
		p := loadONNX(t, "branches", predict.Shapes(c.kept))
		for range 2 {
			for i, r := range runs[:c.values] {
				if err := r.compare(t.Context(), p); err != nil {
					t.Errorf("place for %d, run %d: %v", c.kept, i, err)
				}
			}
		}
		if n := p.Models(); n != c.models {
			t.Errorf("place for %d: %d models for %d values, want %d", c.kept, n, c.values, c.models)
		}
		if got := p.Fixed(); !slices.Equal(got, c.fixed) {
			t.Errorf("place for %d: %q are fixed by %d values, want %q", c.kept, got, c.values, c.fixed)
		}
	}
}

// TestONNXMemory: shapes that are dropped give their memory back, and Close the rest.
func TestONNXMemory(t *testing.T) {
	use := func() int64 { return device.Usage(device.CPU()).Used[device.PurposeArena] }
	before, runs := use(), onnxRuns(t, "rows")
	used := map[int]int64{}
	for _, kept := range []int{1, 3} {
		p := loadONNX(t, "rows", predict.Shapes(kept), predict.InFlight(1))
		for range 2 {
			for _, r := range runs {
				if err := r.compare(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
		}
		used[kept] = use() - before
		p.Close()
		if left := use() - before; left != 0 {
			t.Errorf("%d lists of shapes: %d bytes left after Close", kept, left)
		}
	}
	if used[1] <= 0 || used[3] <= used[1] {
		t.Errorf("arenas take %d bytes for one list of shapes and %d for three, want some and more",
			used[1], used[3])
	}
}

// TestONNXErrors checks errors of inputs, of files and of closed models.
func TestONNXErrors(t *testing.T) {
	rows, choice := loadONNX(t, "rows"), loadONNX(t, "choice")
	x := nd.Zeros(nd.Shape{2, 3})
	for _, c := range []struct {
		p    *predict.ONNX
		in   map[string]*nd.Array
		want string
	}{
		{rows, nil, `no array for x: float32 (rows, 3)`},
		{rows, map[string]*nd.Array{"x": x, "y": x}, `no input "y", the inputs are "x"`},
		{rows, map[string]*nd.Array{"x": nd.FromSlice([]float64{1, 2, 3}, 1, 3)},
			`input "x": the array has type float64, want float32`},
		{rows, map[string]*nd.Array{"x": nd.Zeros(nd.Shape{2, 4})}, "want the extent 3 of axis 1"},
		{rows, map[string]*nd.Array{"x": nd.Zeros(nd.Shape{4})}, "want 2 axes"},
		{choice, map[string]*nd.Array{"x": nd.Zeros(nd.Shape{2})}, "no array for mode: int64 ()"},
	} {
		if _, err := c.p.Predict(t.Context(), c.in); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if err := onnxRuns(t, "rows")[0].compare(t.Context(), rows); err != nil {
		t.Errorf("after errors: %v", err)
	}
	if got, want := choice.Inputs(), []string{"x", "mode"}; !slices.Equal(got, want) {
		t.Errorf("inputs %v, want %v", got, want)
	}
	rows.Close()
	if _, err := rows.Predict(t.Context(), map[string]*nd.Array{"x": x}); err == nil ||
		!strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed model: %v", err)
	}
	for _, c := range []struct {
		file string
		opts []predict.Option
		want string
	}{
		{"absent.onnx", nil, "no such file"},
		{"rows.0.npz", nil, "not a model"},
		{"rows.onnx", []predict.Option{predict.Input("y", 1)}, `no input "y"`},
		{"rows.onnx", []predict.Option{predict.Input("x", 2, 5)}, "want the extent 3"},
		{"choice.onnx", []predict.Option{predict.Input("x", 2)}, `no Input for "mode"`},
	} {
		_, err := predict.LoadONNX(filepath.Join("testdata", "onnx", c.file), c.opts...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.file, err, c.want)
		}
	}
}

// TestONNXAhead: Input options compile the model at once, unless values decide about its shapes.
func TestONNXAhead(t *testing.T) {
	for name, opts := range map[string][]predict.Option{
		"rows":   {predict.Input("x", 2, 3)},
		"choice": {predict.Input("x", 3), predict.Input("mode")},
	} {
		p := loadONNX(t, name, opts...)
		for k, r := range onnxRuns(t, name) {
			if err := r.compare(t.Context(), p); err != nil {
				t.Errorf("%s, run %d: %v", name, k, err)
			}
		}
	}
}

func ExampleLoadONNX() {
	p, err := predict.LoadONNX(filepath.Join("testdata", "onnx", "rows.onnx"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	fmt.Println(p)
	for _, n := range []int{1, 3} { // any number of rows
		outs, err := p.Predict(context.Background(), map[string]*nd.Array{"x": nd.Ones(nd.Shape{n, 3})})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(outs[0].Name, outs[0].Array.Shape(), outs[1].Name, outs[1].Shape)
	}
	// Output:
	// <ONNX of x: float32 (rows, 3)>
	// y (1, 2, 2) total ()
	// y (3, 2, 2) total ()
}
