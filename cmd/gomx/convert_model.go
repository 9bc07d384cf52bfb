package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"gomx/checkpoint"
	"gomx/checkpoint/npy"
	"gomx/dtype"
	"gomx/interop/onnx"
	"gomx/interop/onnx/export"
	nd "gomx/ndarray"
)

// symbolEnd ends the name of the file of a symbol, before which the prefix of a checkpoint stands.
const symbolEnd = "-symbol.json"

// isModel reports whether the name of a file is that of a model.
func isModel(path string) bool { return formatOf(path) == ".onnx" || formatOf(path) == symbolEnd }

// modelFlags are the flags of the command convert for models.
type modelFlags struct {
	shapes []string
	dims   map[string]int
	types  map[string]string
	values map[string]string
	epoch  int
}

func (f *modelFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.shapes, "shape", nil,
		"shape of an input of a model, as in data=1,3,224,224")
	flags.StringToIntVar(&f.dims, "dim", nil,
		"extents that an .onnx file names, as in batch=1")
	flags.StringToStringVar(&f.types, "type", nil,
		"element types of inputs of a symbol other than float32, as in ids=int32")
	flags.StringToStringVar(&f.values, "value", nil,
		"files with values of inputs of an .onnx file, as in sr=rate.npy")
	flags.IntVar(&f.epoch, "epoch", 0, "number in the name PREFIX-0000.params")
}

// convert converts a model.
func (f *modelFlags) convert(in, out string) error {
	shapes, err := parseShapes(f.shapes)
	if err != nil {
		return err
	}
	from, to := formatOf(in), formatOf(out)
	switch {
	case from == ".onnx" && to == symbolEnd:
		return f.toSymbol(in, strings.TrimSuffix(out, symbolEnd), shapes)
	case from == symbolEnd && to == ".onnx":
		return f.toONNX(strings.TrimSuffix(in, symbolEnd), out, shapes)
	}
	return usageError{fmt.Errorf("IN %s and OUT %s, want an .onnx file and a file that ends in %s", in,
		out, symbolEnd)}
}

// toSymbol writes an ONNX model as the checkpoint of a prefix.
func (f *modelFlags) toSymbol(in, prefix string, shapes map[string]dtype.Shape) error {
	if len(f.types) > 0 {
		return usageError{fmt.Errorf("--type with %s, which has the types of its inputs", in)}
	}
	values := map[string]*nd.Array{}
	for name, file := range f.values {
		a, err := npy.Load(file)
		if err != nil {
			return err
		}
		if len(a.Shape()) == 0 {
			a = a.Reshape(1)
		}
		values[name] = a
	}
	m, err := onnx.Load(in, onnx.Shapes(shapes), onnx.Dims(f.dims), onnx.Values(values))
	if need := (*onnx.NotConstant)(nil); errors.As(err, &need) && need.Input != "" {
		return fmt.Errorf("give --value %s=FILE.npy: %w", need.Input, err)
	}
	if err != nil {
		return err
	}
	return m.Save(prefix, f.epoch)
}

// toONNX writes the checkpoint of a prefix as an ONNX model.
func (f *modelFlags) toONNX(prefix, out string, shapes map[string]dtype.Shape) error {
	if len(f.dims)+len(f.values) > 0 {
		return usageError{fmt.Errorf("--dim or --value with %s%s, want --shape", prefix, symbolEnd)}
	}
	types := map[string]dtype.Type{}
	for name, text := range f.types {
		t, err := dtype.Parse(text)
		if err != nil {
			return usageError{fmt.Errorf("--type %s=%s: %w", name, text, err)}
		}
		types[name] = t
	}
	m, err := checkpoint.Load(prefix, f.epoch)
	if err != nil {
		return err
	}
	return export.Save(out, m, shapes, export.Types(types))
}
