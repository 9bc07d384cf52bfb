package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gomx/checkpoint"
	"gomx/checkpoint/npy"
	"gomx/device"
	"gomx/dtype"
	nd "gomx/ndarray"
)

// onnxDir has models with runs of ONNX Runtime.
const onnxDir = "../../predict/testdata/onnx/"

// stored writes the inputs of a run of ONNX Runtime to files, and returns the flags that name them
// and the outputs.
func stored(t *testing.T, run string) (flags []string, want []checkpoint.Named) {
	t.Helper()
	list, err := npy.LoadZip(onnxDir + run)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, a := range list {
		name, ok := strings.CutPrefix(a.Name, "in/")
		if !ok {
			want = append(want, checkpoint.Named{Name: strings.TrimPrefix(a.Name, "out/"),
				Array: a.Array})
			continue
		}
		file := filepath.Join(dir, name+".npy")
		if err := npy.Save(file, a.Array); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--input", name+"="+file)
	}
	return flags, want
}

// near reports whether two arrays have the same shape and type, and values that differ by at most
// 1e-5.
func near(t *testing.T, a, b *nd.Array) bool {
	t.Helper()
	if !a.Shape().Equal(b.Shape()) || a.DType() != b.DType() {
		return false
	}
	var values [2][]float64
	for i, x := range []*nd.Array{a, b} {
		var err error
		values[i], err = nd.Values[float64](nd.Cast(x, nd.CastParams{DType: dtype.Float64}))
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.EqualFunc(values[0], values[1], func(x, y float64) bool {
		return x-y <= 1e-5 && y-x <= 1e-5
	})
}

// TestRun runs models of two outputs, of a scalar input and without inputs, and compares the saved
// outputs with those of ONNX Runtime.
func TestRun(t *testing.T) {
	for _, run := range []string{"rows.0.npz", "rows.2.npz", "choice.0.npz", "choice.1.npz",
		"constant.0.npz"} {
		model, _, _ := strings.Cut(run, ".")
		flags, want := stored(t, run)
		dir := t.TempDir()
		file := filepath.Join(dir, "out.npz")
		args := append([]string{"run", onnxDir + model + ".onnx", "--save", file, "--output-dir",
			filepath.Join(dir, "all")}, flags...)
		if out, err := gomx(t, args...); err != nil || out != "" {
			t.Fatalf("%s: %v, %s", run, err, out)
		}
		got, err := npy.LoadZip(file)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %d outputs, %v, want %d", run, len(got), err, len(want))
		}
		for i, w := range want {
			alone, err := npy.Load(filepath.Join(dir, "all", w.Name+".npy"))
			if err != nil {
				t.Fatal(err)
			}
			if got[i].Name != w.Name || !near(t, got[i].Array, w.Array) || !near(t, alone, w.Array) {
				t.Errorf("%s: got %s %v and %v, want %s %v", run, got[i].Name, got[i].Array, alone,
					w.Name, w.Array)
			}
		}
	}
}

// TestRunPrints checks the text and the JSON of outputs.
func TestRunPrints(t *testing.T) {
	x := filepath.Join(t.TempDir(), "x.npy")
	if err := npy.Save(x, nd.Ones(nd.Shape{1, 3})); err != nil {
		t.Fatal(err)
	}
	text, err := gomx(t, "run", onnxDir+"rows.onnx", "--input", x)
	if err != nil || !strings.HasPrefix(text, "y: float32 (1, 2, 2)\n[[[") ||
		!strings.Contains(text, "total: float32 ()\n") {
		t.Errorf("got %v and\n%s", err, text)
	}
	text, err = gomx(t, "run", onnxDir+"rows.onnx", "--input", x, "-o", "json")
	var rows []outputRow
	if err == nil {
		err = json.Unmarshal([]byte(text), &rows)
	}
	if err != nil || len(rows) != 2 || !slices.Equal(rows[0].Shape, []int{1, 2, 2}) ||
		len(rows[0].Values) != 4 || rows[1].Shape == nil || len(rows[1].Shape) != 0 {
		t.Errorf("got %v and\n%s", err, text)
	}
}

// TestRunErrors checks wrong flags, which exit with 2, and wrong files, which exit with 1.
func TestRunErrors(t *testing.T) {
	dir := t.TempDir()
	x, both := filepath.Join(dir, "x.npy"), filepath.Join(dir, "both.npz")
	one := nd.Ones(nd.Shape{1, 3})
	if err := npy.Save(x, one); err != nil {
		t.Fatal(err)
	}
	if err := npy.SaveZip(both, []checkpoint.Named{{Name: "x", Array: one}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"rows.onnx --input " + x + " -o yaml", "want text or json", 2},
		{"rows.onnx --input " + x + " --save out.txt", "want a name that ends in .npz or .npy", 2},
		{"rows.onnx --input x.txt", "want NAME=FILE.npy", 2},
		{"rows.onnx --input " + both + " --input " + x, `gives "x" twice`, 2},
		{"choice.onnx --input " + x, "the model has 2 inputs: x, mode", 2},
		{"rows.onnx", "no array for x: float32 (rows, 3)", 1},
		{"rows.onnx --input y=" + x + " --input x=" + x, `no input "y"`, 1},
		{"rows.onnx --input x=absent.npy", "absent.npy", 1},
		{"rows.onnx --input " + both + " --save " + filepath.Join(dir, "y.npy"),
			"the model has 2 outputs, want .npz", 1},
		{"absent.onnx", "absent.onnx", 1},
	} {
		args := strings.Fields(c.args)
		args[0] = onnxDir + args[0]
		_, err := gomx(t, append([]string{"run"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || exitCode(err) != c.code {
			t.Errorf("%s: got %v, want %q and exit code %d", c.args, err, c.want, c.code)
		}
	}
}

// TestInspectONNX lists the content of a model of ONNX.
func TestInspectONNX(t *testing.T) {
	text, err := gomx(t, "inspect", onnxDir+"rows.onnx")
	const want = `producer      make_models
operator set  ai.onnx    17
input         x          float32  (rows, 3)
output        y          float32  (rows, 2, 2)
output        total      float32  ()
operator      Concat     1
operator      Gemm       1
operator      ReduceSum  1
operator      Relu       1
operator      Reshape    1
operator      Shape      1
parameter     w          float32  [3 4]  48 bytes
parameter     b          float32  [4]    16 bytes
parameter     two        int64    [2]    16 bytes
3 parameters, 80 bytes
`
	if err != nil || text != want {
		t.Errorf("got %v and\n%s, want\n%s", err, text, want)
	}
	var about struct {
		Inputs    []struct{ Dims []string }
		Operators map[string]int
	}
	text, err = gomx(t, "inspect", onnxDir+"rows.onnx", "-o", "json")
	if err == nil {
		err = json.Unmarshal([]byte(text), &about)
	}
	if err != nil || len(about.Inputs) != 1 || about.Inputs[0].Dims[0] != "rows" ||
		about.Operators["Gemm"] != 1 {
		t.Errorf("got %v and\n%s", err, text)
	}
}

// TestConvertModel converts a network of the zoo to ONNX, runs it, and converts it back: all compute
// the same. A second conversion gives the same bytes.
func TestConvertModel(t *testing.T) {
	dir := t.TempDir()
	prefix, back := filepath.Join(dir, "net"), filepath.Join(dir, "back")
	file, again := filepath.Join(dir, "net.onnx"), filepath.Join(dir, "again.onnx")
	x, y := filepath.Join(dir, "x.npy"), filepath.Join(dir, "y.npy")
	picture := nd.Uniform(-1, 1, nd.Shape{2, 3, 32, 32}, nd.Seed(4))
	if err := npy.Save(x, picture); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"zoo", "export", "mobilenet0_25", prefix, "--classes", "7", "--seed", "3", "--input-shape",
			"1,3,32,32"},
		{"convert", prefix + symbolEnd, file, "--shape", "data=2,3,32,32"},
		{"convert", prefix + symbolEnd, again, "--shape", "data=2,3,32,32"},
		{"run", file, "--input", x, "--save", y},
		{"convert", file, back + symbolEnd, "--epoch", "5"},
	} {
		if _, err := gomx(t, args...); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(again); err != nil || !bytes.Equal(first, second) {
		t.Errorf("a second conversion differs, %v", err)
	}
	got, err := npy.Load(y)
	if err != nil {
		t.Fatal(err)
	}
	for prefix, epoch := range map[string]int{prefix: 0, back: 5} {
		m, err := checkpoint.Load(prefix, epoch)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]*nd.Array{"data": picture}
		for _, list := range []map[string]*nd.Array{m.Args, m.Aux} {
			for name, a := range list {
				values[name] = a
			}
		}
		outs, err := m.Symbol.Eval(device.CPU(), values)
		if err != nil {
			t.Fatal(err)
		}
		if err := outs[0].Wait(context.Background()); err != nil || !near(t, got, outs[0]) {
			t.Errorf("%s: got %v, %v, want %v", prefix, outs[0], err, got)
		}
	}
}

// TestConvertModelShapes converts models of open shapes and with inputs that decide about shapes.
func TestConvertModelShapes(t *testing.T) {
	dir := t.TempDir()
	mode := filepath.Join(dir, "mode.npy")
	if err := npy.Save(mode, nd.FromSlice([]int64{1}, 1).Reshape()); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "m"+symbolEnd)
	for _, c := range []struct {
		args []string
		want string // of the error; empty: none
	}{
		{[]string{onnxDir + "rows.onnx", out, "--dim", "rows=4"}, ""},
		{[]string{onnxDir + "rows.onnx", out, "--shape", "x=4,3"}, ""},
		{[]string{onnxDir + "rows.onnx", out}, "inputs of open shape: x (rows, 3)"},
		{[]string{onnxDir + "rows.onnx", out, "--type", "x=int8"}, "--type"},
		{[]string{onnxDir + "choice.onnx", out, "--dim", "n=3"}, "--value mode=FILE.npy"},
		{[]string{onnxDir + "choice.onnx", out, "--dim", "n=3", "--value", "mode=" + mode}, ""},
		{[]string{onnxDir + "rows.onnx", filepath.Join(dir, "m.params")}, "want an .onnx file and"},
		{[]string{out, filepath.Join(dir, "m.onnx"), "--dim", "n=3"}, "want --shape"},
		{[]string{out, filepath.Join(dir, "m.onnx"), "--type", "x=word"}, "word"},
		{[]string{out, filepath.Join(dir, "m.onnx"), "--epoch", "9"}, "m-0009.params"},
		{[]string{out, filepath.Join(dir, "m.onnx")}, ""},
	} {
		_, err := gomx(t, append([]string{"convert"}, c.args...)...)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.args, err, c.want)
		}
	}
	flags, want := stored(t, "choice.0.npz") // with mode 1
	i := slices.IndexFunc(flags, func(f string) bool { return strings.HasPrefix(f, "x=") })
	y := filepath.Join(dir, "y.npy")
	if _, err := gomx(t, "run", filepath.Join(dir, "m.onnx"), "--input", flags[i], "--save",
		y); err != nil {
		t.Fatal(err)
	}
	if got, err := npy.Load(y); err != nil || !near(t, got, want[0].Array) {
		t.Errorf("got %v, %v, want %v", got, err, want[0].Array)
	}
}
