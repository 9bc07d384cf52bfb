package onnx

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

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

// File is the decoded content of a model's file, which can be imported for several shapes. Imports
// share the arrays of its initializers. A File may be used by several goroutines.
type File struct {
	path     string // empty: the model has no file, and no external data
	model    *onnxpb.ModelProto
	size     int // of the file in bytes
	versions map[string]int
	local    map[string]*onnxpb.FunctionProto

	mu     sync.Mutex // held by an import
	arrays map[*onnxpb.TensorProto]initial
}

// initial is the value of an initializer.
type initial struct {
	array *nd.Array
	shape dtype.Shape
}

// Open reads and decodes a model's file. Operators, and tensors in other files, are looked at by
// Import.
func Open(path string) (*File, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	f, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("onnx: %s: %w", path, err)
	}
	f.path = path
	return f, nil
}

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

// decode decodes a model.
func decode(data []byte) (*File, error) {
	model, err := file.Decode(data)
	if err != nil {
		return nil, err
	}
	f := &File{model: model, size: len(data), arrays: map[*onnxpb.TensorProto]initial{},
		versions: opsets(model.GetOpsetImport())}
	f.local, err = functions(model)
	return f, err
}

// Load reads the model in a file and imports it. External data is read from the folder of the file.
func Load(path string, opts ...Option) (*Model, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return f.Import(opts...)
}

// Parse imports the model that data holds. Such a model cannot have external data.
func Parse(data []byte, opts ...Option) (*Model, error) {
	f, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return f.Import(opts...)
}

// Import makes a symbol and parameters of the model. External data is read from the folder of the
// file.
func (f *File) Import(opts ...Option) (*Model, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	prefix := "onnx"
	var root *os.Root
	if f.path != "" {
		prefix = "onnx: " + f.path
		var err error
		if root, err = os.OpenRoot(filepath.Dir(f.path)); err != nil {
			return nil, fmt.Errorf("onnx: %w", err)
		}
		defer root.Close()
	}
	if err := checkOpsets(f.versions); err != nil {
		return nil, fmt.Errorf("%s: %w", prefix, err)
	}
	im := newImport(f, root, opts)
	m, err := im.model(f.model.Graph)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", prefix, err)
	}
	return m, nil
}

// array returns the array of an initializer. The file drops the bytes that it is made of.
func (f *File) array(t *onnxpb.TensorProto, root *os.Root) (*nd.Array, dtype.Shape, error) {
	if v, ok := f.arrays[t]; ok {
		return v.array, v.shape, nil
	}
	a, shape, err := file.Array(t, root)
	if err == nil {
		f.arrays[t] = initial{a, shape}
		t.RawData, t.FloatData, t.DoubleData = nil, nil, nil
		t.Int32Data, t.Int64Data, t.Uint64Data = nil, nil, nil
	}
	return a, shape, err
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
func opsets(imports []*onnxpb.OperatorSetIdProto) map[string]int {
	versions := map[string]int{}
	for _, o := range imports {
		versions[mainDomain(o.GetDomain())] = int(o.GetVersion())
	}
	return versions
}

// checkOpsets reports a version of the main domain's operators that is not read.
func checkOpsets(versions map[string]int) error {
	v, ok := versions[""]
	if !ok && len(versions) == 0 {
		return fmt.Errorf("the model names no operator set, want one of %d to %d", leastOpset,
			mostOpset)
	}
	if ok && (v < leastOpset || v > mostOpset) {
		return fmt.Errorf("the model uses operator set %d, want one of %d to %d", v, leastOpset,
			mostOpset)
	}
	return nil
}

// mainDomain spells the name of the main domain in one way.
func mainDomain(name string) string {
	if name == "ai.onnx" {
		return ""
	}
	return name
}
