package onnx_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"gomx/device"
	"gomx/dtype"
	"gomx/interop/onnx"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// TestAbout describes files: open extents, inner graphs, parameters.
func TestAbout(t *testing.T) {
	for _, c := range []struct {
		name string
		want onnx.About
	}{
		{"shape_chain", onnx.About{Opsets: map[string]int{"ai.onnx": 17},
			Inputs:  []onnx.Port{{Name: "x", Type: "float32", Dims: []string{"x0", "x1", "x2", "x3"}}},
			Outputs: []onnx.Port{{Name: "y", Type: "unknown", Open: true}},
			Operators: map[string]int{"Shape": 1, "Gather": 1, "Unsqueeze": 1, "Concat": 1,
				"Reshape": 1},
			Parameters: []onnx.Parameter{{"zero", "int64", nil, 8}, {"axis", "int64", []int64{1}, 8},
				{"rest", "int64", []int64{1}, 8}}}},
		{"features", onnx.About{Opsets: map[string]int{"ai.onnx": 17, "ai.onnx.ml": 3},
			Inputs: []onnx.Port{{Name: "x", Type: "float32", Dims: []string{"3", "5"}},
				{Name: "i", Type: "int64", Dims: []string{"2"}}},
			Outputs: []onnx.Port{{Name: "y", Type: "unknown", Open: true}},
			Operators: map[string]int{"ai.onnx.ml:ArrayFeatureExtractor": 1,
				"ai.onnx.ml:Binarizer": 1}}},
	} {
		f, err := onnx.Open("testdata/cases/" + c.name + "/model.onnx")
		if err != nil {
			t.Fatal(err)
		}
		if got := f.About(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", c.name, got, c.want)
		}
	}
	f, err := onnx.Open("testdata/cases/if_rank/model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	if got := f.About().Operators; got["If"] != 1 || len(got) < 3 {
		t.Errorf("operators %v, want If and those of its branches", got)
	}
}

// TestMetadata reads texts beside the graph, one of them twice.
func TestMetadata(t *testing.T) {
	m := &onnxpb.ModelProto{IrVersion: proto.Int64(8), Graph: &onnxpb.GraphProto{}}
	for _, p := range [][2]string{{"character", "a"}, {"license", ""}, {"character", "a\nb\n京"}} {
		m.MetadataProps = append(m.MetadataProps, &onnxpb.StringStringEntryProto{
			Key: proto.String(p[0]), Value: proto.String(p[1])})
	}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := onnx.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"character": "a\nb\n京", "license": ""}
	if got := f.About().Metadata; !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestImportAgain imports one file for several shapes: the imports share the arrays of parameters,
// and each computes what an import of its own computes.
func TestImportAgain(t *testing.T) {
	const path = "testdata/cases/shape_chain/model.onnx"
	f, err := onnx.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, shape := range []dtype.Shape{{2, 3, 4, 5}, {1, 1, 2, 2}, {2, 3, 4, 5}} {
		opt := onnx.Shapes(map[string]dtype.Shape{"x": shape})
		again, err := f.Import(opt)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := onnx.Load(path, opt)
		if err != nil {
			t.Fatal(err)
		}
		x := map[string]*nd.Array{"x": nd.Uniform(0, 1, shape, nd.Seed(1))}
		var values []string
		for _, m := range []*onnx.Model{again, alone} {
			outs, err := m.Symbol.Eval(device.CPU(), m.Values(x))
			if err != nil {
				t.Fatal(err)
			}
			v, err := numbers(outs[0])
			values = append(values, fmt.Sprint(m.Outputs, v, err))
		}
		if values[0] != values[1] {
			t.Errorf("%v: got %s, want %s", shape, values[0], values[1])
		}
	}
	conv, err := onnx.Open("testdata/cases/conv_relu_pool/model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	first, err := conv.Import()
	if err != nil {
		t.Fatal(err)
	}
	second, err := conv.Import()
	if err != nil {
		t.Fatal(err)
	}
	if first.Args["w"] == nil || first.Args["w"] != second.Args["w"] {
		t.Errorf("two imports have the parameters %p and %p, want one array", first.Args["w"],
			second.Args["w"])
	}
}
