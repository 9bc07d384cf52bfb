package checkpoint_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gomx/checkpoint"
	_ "gomx/device/cpu"
	"gomx/dtype"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

func TestSaveArraysAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.params")
	want := []checkpoint.Named{
		{Name: "fc1_weight", Array: nd.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)},
		{Name: "0.gamma", Array: nd.FromSlice([]dtype.Half{dtype.HalfOf(1.5)})},
		{Name: "mask", Array: nd.FromSlice([]bool{true, false})},
		{Name: "none"},
	}
	if err := checkpoint.SaveArrays(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.LoadArrays(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("got %d arrays, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Name != w.Name || (g.Array == nil) != (w.Array == nil) {
			t.Errorf("array %d: got %+v, want %+v", i, g, w)
		}
		if w.Array != nil && !sameArray(t, g.Array, w.Array) {
			t.Errorf("array %q: got %v, want %v", w.Name, g.Array, w.Array)
		}
	}
}

func sameArray(t *testing.T, a, b *nd.Array) bool {
	t.Helper()
	x, err := a.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	return a.DType() == b.DType() && a.Shape().Equal(b.Shape()) && reflect.DeepEqual(x, y)
}

func TestLoadMapErrors(t *testing.T) {
	x := nd.FromSlice([]float32{1})
	for _, tt := range []struct {
		name string
		list []checkpoint.Named
		want string
	}{
		{"unnamed", []checkpoint.Named{{Array: x}}, "array 0 has no name"},
		{"twice", []checkpoint.Named{{Name: "a", Array: x}, {Name: "a", Array: x}},
			`two arrays are named "a"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.params")
			if err := checkpoint.SaveArrays(path, tt.list); err != nil {
				t.Fatal(err)
			}
			if _, err := checkpoint.LoadMap(path); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "missing.params")
	if _, err := checkpoint.LoadArrays(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want the path of the missing file", err)
	}
	half := []checkpoint.Named{{Name: "a", Array: x}, {Array: x}}
	if err := checkpoint.SaveArrays(path, half); err == nil ||
		!strings.Contains(err.Error(), "array 1 has no name") {
		t.Errorf("got %v, want an error about the missing name", err)
	}
}

// someModel is a network with weights and auxiliary states.
func someModel(t *testing.T) *checkpoint.Model {
	t.Helper()
	s, err := sym.Load([]byte(`{"nodes": [
		{"op": "null", "name": "data", "inputs": []},
		{"op": "null", "name": "bn_gamma", "inputs": []},
		{"op": "null", "name": "bn_beta", "inputs": []},
		{"op": "null", "name": "bn_moving_mean", "inputs": []},
		{"op": "null", "name": "bn_moving_var", "inputs": []},
		{"op": "BatchNorm", "name": "bn", "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 1], [4, 0, 1]]}],
		"arg_nodes": [0, 1, 2, 3, 4], "heads": [[5, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}`))
	if err != nil {
		t.Fatal(err)
	}
	v := func(x float32) *nd.Array { return nd.FromSlice([]float32{x, x}) }
	return &checkpoint.Model{Symbol: s,
		Args: map[string]*nd.Array{"bn_gamma": v(1), "bn_beta": v(2)},
		Aux:  map[string]*nd.Array{"bn_moving_mean": v(3), "bn_moving_var": v(4)}}
}

func TestModel(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "net")
	want := someModel(t)
	if err := want.Save(prefix, 3); err != nil {
		t.Fatal(err)
	}
	list, _, err := checkpoint.ReadFile(prefix + "-0003.params")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, r := range list {
		keys = append(keys, r.Name)
	}
	if k := strings.Join(keys, " "); k != "arg:bn_gamma arg:bn_beta aux:bn_moving_mean aux:bn_moving_var" {
		t.Errorf("got keys %s", k)
	}
	got, err := checkpoint.Load(prefix, 3)
	if err != nil {
		t.Fatal(err)
	}
	checkModel(t, got, want)
	if _, err := checkpoint.Load(prefix, 4); err == nil ||
		!strings.Contains(err.Error(), "net-0004.params") ||
		!strings.Contains(err.Error(), "net: 0003") {
		t.Errorf("got %v, want the missing file and the epochs there are", err)
	}
	if err := want.Save(prefix, -1); err == nil {
		t.Error("got no error for epoch -1")
	}
}

func TestLoadPlainNames(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "net")
	want := someModel(t)
	if err := want.Save(prefix, 0); err != nil {
		t.Fatal(err)
	}
	plain := map[string]*nd.Array{}
	for _, m := range []map[string]*nd.Array{want.Args, want.Aux} {
		for name, a := range m {
			plain[name] = a
		}
	}
	if err := checkpoint.SaveMap(checkpoint.ParamsPath(prefix, 0), plain); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.Load(prefix, 0)
	if err != nil {
		t.Fatal(err)
	}
	checkModel(t, got, want)
}

func checkModel(t *testing.T, got, want *checkpoint.Model) {
	t.Helper()
	for _, pair := range [][2]map[string]*nd.Array{{got.Args, want.Args}, {got.Aux, want.Aux}} {
		if len(pair[0]) != len(pair[1]) {
			t.Errorf("got %d arrays, want %d", len(pair[0]), len(pair[1]))
		}
		for name, w := range pair[1] {
			if g := pair[0][name]; g == nil || !sameArray(t, g, w) {
				t.Errorf("%s: got %v, want %v", name, g, w)
			}
		}
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := checkpoint.Load(filepath.Join(dir, "no"), 0); err == nil ||
		!strings.Contains(err.Error(), "no-symbol.json") {
		t.Errorf("got %v, want the missing symbol file", err)
	}
	prefix := filepath.Join(dir, "net")
	if err := someModel(t).Save(prefix, 0); err != nil {
		t.Fatal(err)
	}
	path := checkpoint.ParamsPath(prefix, 0)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:62], 0o644); err != nil {
		t.Fatal(err)
	}
	want := path + ": truncated at byte 56 of 62: array 0 of 4 (float32 (2,)) wants 8 bytes, 6 left"
	if _, err := checkpoint.Load(prefix, 0); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if err := os.WriteFile(checkpoint.SymbolPath(prefix), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Load(prefix, 0); err == nil ||
		!strings.Contains(err.Error(), "net-symbol.json") {
		t.Errorf("got %v, want the name of the damaged symbol file", err)
	}
}

func TestStateOf(t *testing.T) {
	a, b := nd.FromSlice([]float32{1, 2}), nd.FromSlice([]float32{3})
	for _, want := range [][]*nd.Array{{}, {a}, {a, b}} {
		s, err := checkpoint.StateOf(want...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Arrays()
		if err != nil || len(got) != len(want) {
			t.Fatalf("got %d arrays, %v, want %d", len(got), err, len(want))
		}
		for i := range want {
			if !sameArray(t, got[i], want[i]) {
				t.Errorf("array %d: got %v, want %v", i, got[i], want[i])
			}
		}
	}
}
