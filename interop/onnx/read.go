package onnx

import (
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
)

// The operator sets of ONNX's main domain that are read.
const (
	leastOpset = 1
	fullOpset  = 7 // from here on all operators are read; before, those of early
	mostOpset  = 23
)

// maxFile is the greatest size of a model's file in bytes: protobuf's own limit.
const maxFile = 1<<31 - 1

// readFile reads a model's file whole.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("onnx: %s has %d bytes, want at most %d", path, info.Size(), maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return data, nil
}

// Load reads the model in a file and imports it. External data is read from the folder of the file.
func Load(path string, opts ...Option) (*Model, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	defer root.Close()
	m, err := parse(data, root, opts)
	if err != nil {
		return nil, fmt.Errorf("onnx: %s: %w", path, err)
	}
	return m, nil
}

// Parse imports the model that data holds. Such a model cannot have external data.
func Parse(data []byte, opts ...Option) (*Model, error) {
	m, err := parse(data, nil, opts)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return m, nil
}

// parse decodes and imports a model. Without a root, external data is an error.
func parse(data []byte, root *os.Root, opts []Option) (*Model, error) {
	model, err := file.Decode(data)
	if err != nil {
		return nil, err
	}
	versions, err := opsets(model.GetOpsetImport())
	if err != nil {
		return nil, err
	}
	im := newImport(versions, root, len(data), opts)
	if im.local, err = functions(model); err != nil {
		return nil, err
	}
	return im.model(model.Graph)
}

// Tensor decodes a serialized TensorProto, such as the files of ONNX's tests. The second result is
// ONNX's shape; an array for rank zero has shape (1).
func Tensor(data []byte) (*nd.Array, dtype.Shape, error) {
	t := &onnxpb.TensorProto{}
	if err := proto.Unmarshal(data, t); err != nil {
		return nil, nil, fmt.Errorf("onnx: not a tensor of ONNX: %w", err)
	}
	a, shape, err := file.Array(t, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("onnx: %w", err)
	}
	return a, shape, nil
}

// opsets returns the versions of the operator sets by domain; the main domain is "".
func opsets(imports []*onnxpb.OperatorSetIdProto) (map[string]int, error) {
	versions := map[string]int{}
	for _, o := range imports {
		versions[mainDomain(o.GetDomain())] = int(o.GetVersion())
	}
	v, ok := versions[""]
	if !ok && len(versions) == 0 {
		return nil, fmt.Errorf("the model names no operator set, want one of %d to %d", leastOpset,
			mostOpset)
	}
	if ok && (v < leastOpset || v > mostOpset) {
		return nil, fmt.Errorf("the model uses operator set %d, want one of %d to %d", v,
			leastOpset, mostOpset)
	}
	return versions, nil
}

// mainDomain spells the name of the main domain in one way.
func mainDomain(name string) string {
	if name == "ai.onnx" {
		return ""
	}
	return name
}

// InputNames lists the inputs of the model in a file that have no initializer, in the model's
// order.
func InputNames(path string) ([]string, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	model, err := file.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("onnx: %s: %w", path, err)
	}
	known := map[string]bool{}
	for _, t := range model.Graph.GetInitializer() {
		known[t.GetName()] = true
	}
	var names []string
	for _, in := range model.Graph.GetInput() {
		if !known[in.GetName()] {
			names = append(names, in.GetName())
		}
	}
	return names, nil
}
