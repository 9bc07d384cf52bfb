package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"gomx/checkpoint"
	"gomx/checkpoint/npy"
	"gomx/checkpoint/safetensors"
)

// convertFlags are the flags of the command convert.
type convertFlags struct {
	names    string
	nameMap  string
	shard    int64
	metadata map[string]string
	model    modelFlags
}

func convertCommand() *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Convert files of arrays: .params, .npz, .safetensors; and models from and to ONNX",
		Long: `Convert a file of arrays to another format. The names of the files tell the formats: .params
of MXNet, .npz of NumPy, .safetensors, or .safetensors.index.json for several files with an index.

Names of arrays stay as they are. In files of a whole model MXNet puts arg: and aux: before them:
with --names plain the result has names without, with --names arg names that have neither get arg:.
A --name-map is a file with a JSON object that gives arrays other names, {"old": "new"}; it is
applied after --names, and arrays that it does not name keep theirs. Arrays without names, as in
lists of MXNet, are called arr_0, arr_1 and so on.

A model is converted between MODEL.onnx and PREFIX-symbol.json with PREFIX-0000.params. Shapes of
inputs that IN leaves open are given by --shape, or by --dim for named extents: the model is
converted for them. A symbol has no shapes of inputs; each needs a --shape. An input of an ONNX
model that decides about shapes or branches becomes a constant by --value.

OUT appears completely or not at all.`,
		Example: "  gomx convert resnet-0000.params resnet.safetensors --names plain\n" +
			"  gomx convert features.npz features.params\n" +
			"  gomx convert model.safetensors.index.json model.params --name-map names.json\n" +
			"  gomx convert resnet.onnx resnet-symbol.json --dim batch=1\n" +
			"  gomx convert resnet-symbol.json resnet.onnx --shape data=1,3,224,224",
		Args: exactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.ErrOrStderr(), args[0], args[1])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.names, "names", "keep",
		"prefixes arg: and aux: of names: keep, plain (remove them) or arg (add arg:)")
	flags.StringVar(&f.nameMap, "name-map", "",
		"file with a JSON object of new names")
	flags.Int64Var(&f.shard, "shard-bytes", 5_000_000_000,
		"most bytes of values in a file when OUT is .safetensors.index.json")
	flags.StringToStringVar(&f.metadata, "metadata", nil,
		"pairs for the metadata of .safetensors, as in format=pt; IN's by default")
	f.model.register(flags)
	return cmd
}

// run converts the file in to the file out, and draws its progress on a terminal.
func (f *convertFlags) run(progress io.Writer, in, out string) error {
	if !slices.Contains([]string{"keep", "plain", "arg"}, f.names) {
		return usageError{fmt.Errorf("--names %q, want keep, plain or arg", f.names)}
	}
	if isModel(in) || isModel(out) {
		return f.model.convert(in, out)
	}
	sink, err := f.sink(out)
	if err != nil {
		return usageError{err}
	}
	src, err := openArrays(in)
	if err != nil {
		return err
	}
	defer src.close()
	if err := f.rename(src); err != nil {
		return err
	}
	if err := src.check(in); err != nil {
		return err
	}
	src.follow(progress)
	return sink(src)
}

// follow draws the bytes that were read, if w is a terminal.
func (s *arrays) follow(w io.Writer) {
	if !onTerminal(w) {
		return
	}
	total := int64(0)
	for _, t := range s.list {
		total += t.Bytes
	}
	bar := progressbar.NewOptions64(total, progressbar.OptionSetWriter(w),
		progressbar.OptionShowBytes(true), progressbar.OptionClearOnFinish())
	read := s.record
	s.record = func(i int) (*checkpoint.Record, error) {
		r, err := read(i)
		if err == nil {
			_ = bar.Add64(s.list[i].Bytes) // a bar that cannot be drawn is no reason to end
		}
		return r, err
	}
}

// rename gives the arrays the names that the flags ask for.
func (f *convertFlags) rename(s *arrays) error {
	names := map[string]string{}
	if f.nameMap != "" {
		text, err := os.ReadFile(f.nameMap)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &names); err != nil {
			return fmt.Errorf("%s: want a JSON object of strings: %w", f.nameMap, err)
		}
	}
	for i := range s.list {
		name := s.list[i].Name
		if name == "" {
			name = fmt.Sprintf("arr_%d", i)
		}
		plain := strings.TrimPrefix(strings.TrimPrefix(name, "arg:"), "aux:")
		switch {
		case f.names == "plain":
			name = plain
		case f.names == "arg" && plain == name:
			name = "arg:" + name
		}
		if to, ok := names[name]; ok {
			delete(names, name)
			name = to
		}
		s.list[i].Name = name
	}
	for from := range names {
		return fmt.Errorf("%s: the file has no array %q", f.nameMap, from)
	}
	return nil
}

// check returns an error if two arrays have one name, or none.
func (s *arrays) check(path string) error {
	seen := map[string]bool{}
	for i, t := range s.list {
		if t.Name == "" {
			return fmt.Errorf("%s: array %d would have an empty name", path, i)
		}
		if seen[t.Name] {
			return fmt.Errorf("%s: two arrays would be named %q, want different names", path, t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// sink returns the function that writes the file at path.
func (f *convertFlags) sink(path string) (func(*arrays) error, error) {
	switch formatOf(path) {
	case ".params":
		return func(s *arrays) error { return checkpoint.WriteFile(path, s.writeParams) }, nil
	case ".npz":
		return func(s *arrays) error { return checkpoint.WriteFile(path, s.writeZip) }, nil
	case ".safetensors":
		return func(s *arrays) error {
			list, at := s.sorted()
			return s.writeSafe(path, list, at, f.pairs(s))
		}, nil
	case safetensors.IndexSuffix:
		return func(s *arrays) error { return f.writeShards(path, s) },
			safetensors.CheckShards(path, f.shard)
	}
	return nil, fmt.Errorf("OUT %s, want a name that ends in .params, .npz, .safetensors or %s", path,
		safetensors.IndexSuffix)
}

// writeParams writes MXNet's format. Its usual layout has no scalars and no empty arrays: with one
// of these the file has the layout for numpy's shapes.
func (s *arrays) writeParams(w io.Writer) error {
	numpy := false
	for _, t := range s.list {
		numpy = numpy || t.Bytes == 0 || len(t.Shape) == 0
	}
	e := checkpoint.NewEncoder(w, len(s.list), numpy)
	return errors.Join(s.each(e.Encode), e.Close())
}

// writeZip writes NumPy's format.
func (s *arrays) writeZip(w io.Writer) error {
	z := npy.NewZipWriter(w)
	if err := s.each(z.Write); err != nil {
		return err
	}
	return z.Close()
}

// each reads the arrays in order.
func (s *arrays) each(write func(*checkpoint.Record) error) error {
	for i := range s.list {
		r, err := s.record(i)
		if err != nil {
			return err
		}
		r.Name = s.list[i].Name
		if err := write(r); err != nil {
			return err
		}
	}
	return nil
}

// sorted lists the arrays in the order of a .safetensors file; at has their places in s.list.
func (s *arrays) sorted() (list []safetensors.Tensor, at map[string]int) {
	at = map[string]int{}
	for i, t := range s.list {
		at[t.Name] = i
	}
	list = slices.Clone(s.list)
	safetensors.Order(list)
	return list, at
}

// pairs is the metadata of the result.
func (f *convertFlags) pairs(s *arrays) map[string]string {
	if f.metadata != nil {
		return f.metadata
	}
	return s.metadata
}

// writeSafe writes the listed arrays as one .safetensors file.
func (s *arrays) writeSafe(path string, list []safetensors.Tensor, at map[string]int,
	metadata map[string]string) error {
	return checkpoint.WriteFile(path, func(w io.Writer) error {
		return safetensors.Write(w, list, metadata, func(i int) ([]byte, error) {
			r, err := s.record(at[list[i].Name])
			if err != nil {
				return nil, err
			}
			return r.Data, nil
		})
	})
}

// writeShards writes several .safetensors files and their index.
func (f *convertFlags) writeShards(path string, s *arrays) error {
	list, at := s.sorted()
	parts := safetensors.Shards(list, f.shard)
	for i, part := range parts {
		err := s.writeSafe(safetensors.ShardPath(path, i, len(parts)), part, at, f.pairs(s))
		if err != nil {
			return err
		}
	}
	return safetensors.WriteIndex(path, parts)
}
