package quantize_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/quantize"
)

var python = flag.String("mxnet", "", "a Python with MXNet 1.9.1, for TestInMXNet")

// TestOfMXNet runs the network that MXNet has quantized, with biases and relu in integers, and
// compares with the outputs that MXNet computed. testdata/make.py wrote both.
func TestOfMXNet(t *testing.T) {
	m, err := checkpoint.Load(filepath.Join("testdata", "mxnet"), 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.LoadMap(filepath.Join("testdata", "mxnet-case.params"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := c["output"].Float32s()
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range []bool{true, false} {
		if d := nettest.Distance(outputs(t, m, c["data"], plain), want, 0); d > 1e-6 {
			t.Errorf("fused %v: outputs differ by %v from MXNet's", !plain, d)
		}
	}
}

// TestInMXNet runs networks that Calibrate has quantized in MXNet, on data other than the
// samples of the calibration, and compares the outputs.
func TestInMXNet(t *testing.T) {
	if *python == "" {
		t.Skip("-mxnet names no Python with MXNet 1.9.1")
	}
	shape := dtype.Shape{4, 3, 12, 12}
	for seed, mode := range []quantize.Mode{quantize.None, quantize.Naive, quantize.Entropy} {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		m := model(t, network(), rng, shape)
		m.Symbol, _ = m.Symbol.Internals().Output("f3_output")
		r, err := quantize.Calibrate(context.Background(), m, iterator(t, samples(rng, shape), 4),
			quantize.Config{Mode: mode, ForMXNet: true})
		if err != nil {
			t.Fatal(err)
		}
		dir, x := t.TempDir(), samples(rng, shape)
		in, out := filepath.Join(dir, "in.params"), filepath.Join(dir, "out.params")
		if err := r.Model.Save(filepath.Join(dir, "q"), 0); err != nil {
			t.Fatal(err)
		}
		if err := checkpoint.SaveMap(in, map[string]*nd.Array{"data": x}); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(*python, filepath.Join("testdata", "run.py"), filepath.Join(dir, "q"), in,
			out)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		list, err := checkpoint.LoadArrays(out)
		if err != nil {
			t.Fatal(err)
		}
		want, err := list[0].Array.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		for _, plain := range []bool{true, false} {
			d := nettest.Distance(outputs(t, r.Model, x, plain), want, 0)
			t.Logf("mode %s, fused %v: outputs differ by %v", mode, !plain, d)
			if d > 1e-5 {
				t.Errorf("mode %s, fused %v: outputs differ by %v from MXNet's", mode, !plain, d)
			}
		}
	}
}
