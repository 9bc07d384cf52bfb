package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"gomx/checkpoint"
	"gomx/dtype"
	"gomx/interop/onnx/internal/onnxpb"
	nd "gomx/ndarray"
	"gomx/op"
)

// Inputs are the shapes of variables that are not parameters, by name.
type Inputs map[string]dtype.Shape

// Option configures an export.
type Option func(*config)

// config holds the options of an export.
type config struct {
	types    map[string]dtype.Type
	training bool
	external int64 // bytes of tensors from which on they go to a second file
}

// Types gives inputs their element types by name, where the symbol leaves them open; others are
// float32.
func Types(types map[string]dtype.Type) Option { return func(c *config) { c.types = types } }

// Training exports a model as it trains: statistics of batches, and dropout.
func Training() Option { return func(c *config) { c.training = true } }

// External puts the values of parameters into a second file, path.data, when they have at least the
// given number of bytes together. Without it that happens from about 2 GB on, the greatest size of
// a message of protobuf.
func External(bytes int64) Option { return func(c *config) { c.external = bytes } }

const (
	// operatorSet and fileVersion are the versions of ONNX's operators and of its format.
	operatorSet = 18
	fileVersion = 8
	// mostInside is the number of bytes of tensors that a model may have inside. The rest of a
	// message of 2 GiB is left for the graph.
	mostInside = 1<<31 - 1<<26
	// dataAlign is the alignment of tensors in a second file, so that they can be mapped.
	dataAlign = 4096
)

// Save writes a model to a file, and a second one, path.data, where it is too large for one. An
// error leaves files that are there unchanged.
func Save(path string, m *checkpoint.Model, inputs Inputs, opts ...Option) error {
	ex, err := build(m, inputs, opts)
	if err != nil {
		return fmt.Errorf("onnx: %s: %w", path, err)
	}
	if ex.tensorBytes() >= ex.config.external {
		if err := ex.saveTensors(path + ".data"); err != nil {
			return fmt.Errorf("onnx: %s.data: %w", path, err)
		}
	} else if err := ex.fillTensors(); err != nil {
		return fmt.Errorf("onnx: %s: %w", path, err)
	}
	data, err := encode(ex.model())
	if err != nil {
		return fmt.Errorf("onnx: %s: %w", path, err)
	}
	return checkpoint.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Marshal returns the bytes of a model's file.
func Marshal(m *checkpoint.Model, inputs Inputs, opts ...Option) ([]byte, error) {
	ex, err := build(m, inputs, opts)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	if n := ex.tensorBytes(); n > mostInside {
		return nil, fmt.Errorf("onnx: the parameters have %d bytes, want at most %d: use Save", n,
			mostInside)
	}
	if err := ex.fillTensors(); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	data, err := encode(ex.model())
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return data, nil
}

// encode writes a message.
func encode(m *onnxpb.ModelProto) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// build makes the graph of a model.
func build(m *checkpoint.Model, inputs Inputs, opts []Option) (ex *exporting, err error) {
	if m == nil || m.Symbol == nil {
		return nil, errors.New("the model has no symbol, want one")
	}
	defer op.Recover(&err)
	c := config{external: mostInside}
	for _, o := range opts {
		o(&c)
	}
	if ex, err = newExport(m, inputs, c); err != nil {
		return nil, err
	}
	return ex, ex.run(m.Symbol)
}

// model is the message of the whole model.
func (ex *exporting) model() *onnxpb.ModelProto {
	return &onnxpb.ModelProto{
		IrVersion:    proto.Int64(fileVersion),
		ProducerName: proto.String("gomx"),
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Domain: proto.String(""),
			Version: proto.Int64(operatorSet)}},
		Graph: ex.graph,
	}
}

// parameter is an initializer whose values are read from its array at the end.
type parameter struct {
	tensor *onnxpb.TensorProto
	array  *nd.Array
}

// tensorBytes is the number of bytes of all parameters.
func (ex *exporting) tensorBytes() int64 {
	var n int64
	for _, p := range ex.params {
		n += int64(p.array.Bytes())
	}
	return n
}

// fillTensors puts the values of the parameters into their tensors.
func (ex *exporting) fillTensors() error {
	for _, p := range ex.params {
		p.tensor.RawData = make([]byte, p.array.Bytes())
		if err := p.array.ReadBytes(context.Background(), p.tensor.RawData); err != nil {
			return fmt.Errorf("parameter %q: %w", p.tensor.GetName(), err)
		}
	}
	return nil
}

// saveTensors writes the values of the parameters to a file, one by one, and their places into
// their tensors.
func (ex *exporting) saveTensors(path string) error {
	return checkpoint.WriteFile(path, func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 1<<20)
		at := int64(0)
		for _, p := range ex.params {
			raw := make([]byte, p.array.Bytes())
			if err := p.array.ReadBytes(context.Background(), raw); err != nil {
				return fmt.Errorf("parameter %q: %w", p.tensor.GetName(), err)
			}
			pad := (dataAlign - at%dataAlign) % dataAlign
			if _, err := out.Write(make([]byte, pad)); err != nil {
				return err
			}
			if _, err := out.Write(raw); err != nil {
				return err
			}
			at += pad
			p.tensor.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
			for _, kv := range [][2]string{{"location", filepath.Base(path)},
				{"offset", fmt.Sprint(at)}, {"length", fmt.Sprint(len(raw))}} {
				p.tensor.ExternalData = append(p.tensor.ExternalData,
					&onnxpb.StringStringEntryProto{Key: proto.String(kv[0]),
						Value: proto.String(kv[1])})
			}
			at += int64(len(raw))
		}
		return out.Flush()
	})
}
