package conformance

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// selectedOps is the number of selected cases of each operator.
var selectedOps = map[string]int{
	"FullyConnected": 3, "Convolution": 5, "Pooling": 4, "BatchNorm": 3, "Activation": 2,
	"LeakyReLU": 2,
	"Flatten":   1, "Reshape": 2, "Concat": 1, "SliceChannel": 1, "Dropout": 1, "elemwise_add": 1,
	"elemwise_sub": 1,
	"elemwise_mul": 1, "elemwise_div": 1, "broadcast_add": 1, "broadcast_mul": 1, "_plus_scalar": 1,
	"_rdiv_scalar": 1,
	"exp":          1, "log": 1, "sqrt": 1, "square": 1, "abs": 1, "clip": 1, "sum": 2, "mean": 1,
	"max":       1,
	"dot":       2,
	"transpose": 1, "softmax": 1, "log_softmax": 1, "SoftmaxOutput": 3, "LinearRegressionOutput": 1,
	"LogisticRegressionOutput": 1, "MakeLoss": 1, "BlockGrad": 1, "Embedding": 1, "_copy": 1,
	"Cast": 2, "_zeros": 1,
	"_ones": 1, "_arange": 1, "one_hot": 1, "argmax": 1,
}

// selectedRest are the families of later operators, each with one selected case.
var selectedRest = []string{"nograd", "nonfinite", "softmaxact", "reduce2", "prelu", "dropout",
	"pool2", "linalg2", "contrib2"}

// selectedModels are the networks of the selection.
var selectedModels = []string{"mlp", "lenet", "logistic"}

// selection describes an index, the choice of its cases, and the place of its arrays and files.
type selection struct {
	index   string // JSON file
	archive string // archive of all cases; empty: each case names its own
	keep    func(c *selectedCase) bool
	files   []string // fields of a case that name files of the same folder
}

// selectedCase holds the fields that selections read.
type selectedCase struct {
	ID, Op, Family, Name, Model, Kind, File, Iterator, Optimizer, Class, Symbol string
	Batch                                                                       int
}

// selections lists the indexes.
func selections() []selection {
	left := map[string]int{}
	for name, n := range selectedOps {
		left[name] = n
	}
	ops := func(c *selectedCase) bool { left[c.Op]--; return left[c.Op] >= 0 }
	all := func(*selectedCase) bool { return true }
	rest := map[string]bool{} // operators that have their case
	newOps := func(c *selectedCase) bool {
		if rest[c.Op] || !slices.Contains(selectedRest, c.Family) {
			return false
		}
		rest[c.Op] = true
		return true
	}
	models := func(c *selectedCase) bool { return slices.Contains(selectedModels, c.Name+c.Model) }
	return []selection{
		{"ops/cases.json", "", ops, nil},
		{"rest/cases.json", "", newOps, nil},
		{"rest/imperative.json", "rest/imperative.npz", all, nil},
		{"formats/formats.json", "formats/formats.npz", selectFormat, []string{"file", "idx",
			"upgraded", "label", "label_csv", "label_libsvm"}},
		{"models/cases.json", "", models, []string{"symbol"}},
		{"memplan/memplan.json", "", func(c *selectedCase) bool {
			return models(c) && c.Batch <= 128
		}, nil},
		{"optim/optimizers.json", "", func(c *selectedCase) bool {
			return c.Optimizer == "sgd" || c.Optimizer == "adam"
		}, nil},
		{"optim/update_ops.json", "", func(c *selectedCase) bool {
			return strings.HasPrefix(c.Op, "sgd_") || c.Op == "adam_update"
		}, nil},
		{"optim/lr_schedules.json", "", all, nil},
		{"optim/metrics.json", "", func(c *selectedCase) bool {
			return slices.Contains([]string{"Accuracy", "TopKAccuracy", "CrossEntropy"}, c.Class)
		}, nil},
		{"optim/compression.json", "", func(c *selectedCase) bool { return c.ID == "c2" }, nil},
		{"train/train.json", "", models, []string{"symbol"}},
		{"gluon/layers/layers.json", "", firstOfClass, nil},
		{"gluon/rnn/rnn.json", "", firstOfClass, nil},
		{"gluon/loss/loss.json", "", firstOfClass, nil},
		{"gluon/utils/utils.json", "gluon/utils/utils.npz", all, nil},
		{"gluon/files/files.json", "gluon/files/files.npz", func(c *selectedCase) bool {
			return c.Kind != "export"
		}, []string{"file", "states"}},
		{gluonTrain + "train.json", gluonTrain + "train.npz", all, nil},
		{"gluon/data/data.json", "gluon/data/data.npz", func(c *selectedCase) bool {
			return slices.Contains([]string{"sampler", "dataloader", "dataset", "batchify"}, c.Kind)
		}, nil},
		{zooFolder + "cases.json", "", func(c *selectedCase) bool {
			return strings.Contains(c.ID, "-")
		}, []string{"symbol", "params"}},
		{"gluon/rnn/legacy_rnn.json", "", func(c *selectedCase) bool {
			return c.Kind == "initializer" || c.ID == "gru" || c.ID == "fused_gru_bi"
		}, []string{"symbol"}},
		{"control/cases.json", "", all, []string{"symbol"}},
		{"sparse/ops.json", "", firstOfClass, nil},
		{"sparse/libsvm.json", "", all, []string{"data_libsvm", "label_libsvm"}},
		{"sparse/optim.json", "", firstOfClass, nil},
		{"sparse/kvstore.json", "", func(c *selectedCase) bool { return c.ID == "local.aggregate" }, nil},
		{"sparse/train.json", "", all, []string{"symbol", "libsvm"}},
		{"train/dist.json", "", func(c *selectedCase) bool { return c.ID == "aggregate" }, nil},
	}
}

// firstOfClass selects the first case of each class of blocks, or of each operator.
func firstOfClass(c *selectedCase) bool {
	return strings.HasSuffix(c.ID, ".00") || strings.HasSuffix(c.ID, ".000")
}

// selectFormat selects small cases.
func selectFormat(c *selectedCase) bool {
	switch c.Kind {
	case "params", "recordio", "recordio_indexed", "recordio_header":
		return true
	case "symbol":
		return !strings.Contains(c.File, "net")
	case "iterator":
		return c.Iterator != "ImageRecordIter"
	}
	return false
}

// Select copies a small part of the golden data to the folder dst.
func Select(g *Golden, dst string) error {
	for _, s := range selections() {
		if err := s.copy(g, dst); err != nil {
			return fmt.Errorf("conformance: selecting from %s: %w", s.index, err)
		}
	}
	return nil
}

// copy copies an index, the arrays that its selected cases refer to, and their files.
func (s *selection) copy(g *Golden, dst string) error {
	var index map[string]any
	if err := g.JSON(s.index, &index); err != nil {
		return err
	}
	delete(index, "rss")
	folder := path.Dir(s.index)
	arrays, files := map[string][]Ref{}, []string{}
	var kept []any
	for _, c := range index["cases"].([]any) {
		var what selectedCase
		again, _ := json.Marshal(c)
		json.Unmarshal(again, &what) // fields of other types stay empty
		if !s.keep(&what) {
			continue
		}
		kept = append(kept, c)
		archive := s.archive
		if archive == "" {
			archive = folder + "/" + what.File
		}
		walk(c, func(o map[string]any) {
			if r, ok := refOf(o); ok {
				arrays[archive] = append(arrays[archive], r)
			}
			for _, field := range s.files {
				if name, ok := o[field].(string); ok && name != "" &&
					fileExists(g.Path(folder+"/"+name)) {
					files = append(files, folder+"/"+name)
				}
			}
		})
	}
	index["cases"] = kept
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	if err := write(dst, s.index, append(text, '\n')); err != nil {
		return err
	}
	for archive, refs := range arrays {
		if err := writeNpz(g, dst, archive, refs); err != nil {
			return err
		}
	}
	for _, name := range files {
		data, err := os.ReadFile(g.Path(name))
		if err != nil {
			return err
		}
		if err := write(dst, name, data); err != nil {
			return err
		}
	}
	return nil
}

func fileExists(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// walk calls f for every object of a decoded document.
func walk(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, x := range v {
			walk(x, f)
		}
	case []any:
		for _, x := range v {
			walk(x, f)
		}
	}
}

// refOf reads a reference to an array.
func refOf(o map[string]any) (Ref, bool) {
	key, named := o["key"].(string)
	shape, shaped := o["shape"].([]any)
	if !named || !shaped {
		return Ref{}, false
	}
	r := Ref{Key: key}
	r.DType, _ = o["dtype"].(string)
	for _, d := range shape {
		r.Shape = append(r.Shape, int(d.(float64)))
	}
	return r, true
}

func write(dst, name string, data []byte) error {
	file := filepath.Join(dst, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// writeNpz writes an archive of the arrays refs of the archive of the same name.
func writeNpz(g *Golden, dst, name string, refs []Ref) error {
	slices.SortFunc(refs, func(a, b Ref) int { return strings.Compare(a.Key, b.Key) })
	refs = slices.CompactFunc(refs, func(a, b Ref) bool { return a.Key == b.Key })
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, r := range refs {
		a, err := g.Array(name, r)
		if err != nil {
			return err
		}
		w, err := z.Create(r.Key + ".npy")
		if err != nil {
			return err
		}
		if _, err := w.Write(append(npyHeader(a), a.Data...)); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return write(dst, name, b.Bytes())
}

// npyHeader is the header of NumPy's format 1.0, padded to a multiple of 64 bytes.
func npyHeader(a *Array) []byte {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %v, }", npyTypes[a.DType],
		a.Shape)
	pad := 63 - (10+len(dict))%64
	h := append([]byte("\x93NUMPY\x01\x00"), binary.LittleEndian.AppendUint16(nil,
		uint16(len(dict)+pad+1))...)
	return append(h, dict+strings.Repeat(" ", pad)+"\n"...)
}
