package onnx_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"gomx/interop/onnx"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// identity is a model whose output is the initializer w.
func identity(w *onnxpb.TensorProto) []byte {
	w.Name = proto.String("w")
	data, err := proto.Marshal(&onnxpb.ModelProto{
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(13)}},
		Graph: &onnxpb.GraphProto{
			Initializer: []*onnxpb.TensorProto{w},
			Node: []*onnxpb.NodeProto{{OpType: proto.String("Identity"), Input: []string{"w"},
				Output: []string{"y"}}},
			Output: []*onnxpb.ValueInfoProto{{Name: proto.String("y")}},
		},
	})
	if err != nil {
		panic(err)
	}
	return data
}

// external describes data in another file.
func external(location, offset string) *onnxpb.TensorProto {
	entry := func(k, v string) *onnxpb.StringStringEntryProto {
		return &onnxpb.StringStringEntryProto{Key: proto.String(k), Value: proto.String(v)}
	}
	return &onnxpb.TensorProto{DataType: proto.Int32(int32(onnxpb.TensorProto_INT32)),
		Dims: []int64{2}, DataLocation: onnxpb.TensorProto_EXTERNAL.Enum(),
		ExternalData: []*onnxpb.StringStringEntryProto{entry("location", location),
			entry("offset", offset)}}
}

// TestExternalData reads data beside a model, and nowhere else.
func TestExternalData(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "model")
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("secret", make([]byte, 64))
	write("model/w.bin", []byte{9, 9, 9, 9, 7, 0, 0, 0, 255, 255, 255, 255})
	if err := os.Symlink("../secret", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Load(write("model/good.onnx", identity(external("w.bin", "4"))))
	if err != nil {
		t.Fatal(err)
	}
	got := []int32{}
	for _, a := range m.Args {
		if got, err = nd.Values[int32](a); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int32{7, -1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, c := range []struct{ name, location, offset, want string }{
		{"outside", "../secret", "0", "escapes"},
		{"link", "link", "0", "escapes"},
		{"absolute", filepath.Join(dir, "secret"), "0", "escapes"},
		{"too short", "w.bin", "8", "want a file of at least 8"},
		{"negative", "w.bin", "-4", "offset -4"},
		{"huge", "w.bin", "9223372036854775807", "offset 9223372036854775807"},
		{"folder", ".", "0", "want a file"},
		{"absent", "none", "0", "no such file"},
	} {
		_, err := onnx.Load(write("model/bad.onnx", identity(external(c.location, c.offset))))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := onnx.Parse(identity(external("w.bin", "0"))); err == nil {
		t.Error("a model without a folder has external data")
	}
}

// TestSizes refuses tensors whose data does not fit their shapes.
func TestSizes(t *testing.T) {
	float := proto.Int32(int32(onnxpb.TensorProto_FLOAT))
	for _, c := range []struct {
		name string
		w    *onnxpb.TensorProto
		want string
	}{
		{"raw", &onnxpb.TensorProto{DataType: float, Dims: []int64{1 << 39}, RawData: []byte{1}},
			"1 bytes of data"},
		{"typed", &onnxpb.TensorProto{DataType: float, Dims: []int64{3}, FloatData: []float32{1}},
			"1 elements, want 3"},
		{"overflow", &onnxpb.TensorProto{DataType: float, Dims: []int64{1 << 39, 1 << 39}},
			"no possible size"},
		{"negative", &onnxpb.TensorProto{DataType: float, Dims: []int64{-1}}, "no possible size"},
		{"strings", &onnxpb.TensorProto{DataType: proto.Int32(8), Dims: []int64{1}},
			"element type STRING"},
	} {
		_, err := onnx.Parse(identity(c.w))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// TestMissing lists all operators that the table lacks in one error.
func TestMissing(t *testing.T) {
	node := func(name, kind, in, out string) *onnxpb.NodeProto {
		return &onnxpb.NodeProto{Name: proto.String(name), OpType: proto.String(kind),
			Input: []string{in}, Output: []string{out}}
	}
	data, err := proto.Marshal(&onnxpb.ModelProto{
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(13)}},
		Graph: &onnxpb.GraphProto{Node: []*onnxpb.NodeProto{node("a", "Wobble", "x", "y"),
			node("b", "Relu", "y", "z"), node("c", "Tremble", "z", "u"),
			node("d", "Wobble", "u", "v")}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = onnx.Parse(data)
	want := `Tremble (opset 13) at node "c", Wobble (opset 13) at node "a" and 1 more`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
