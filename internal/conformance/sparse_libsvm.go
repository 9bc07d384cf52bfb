package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"gomx/dtype"
	dataio "gomx/io"

	nd "gomx/ndarray"
)

// svmCase is a LibSVMIter and the batches of its epochs.
type svmCase struct {
	ID     string
	Kwargs struct {
		DataLibSVM  string `json:"data_libsvm"`
		DataShape   []int  `json:"data_shape"`
		LabelLibSVM string `json:"label_libsvm"`
		LabelShape  []int  `json:"label_shape"`
		BatchSize   int    `json:"batch_size"`
		RoundBatch  *bool  `json:"round_batch"`
		NumParts    int    `json:"num_parts"`
		PartIndex   int    `json:"part_index"`
		Prefetch    int    `json:"prefetch_buffer"` // batches that are read ahead
		DataName    string `json:"data_name"`
		LabelName   string `json:"label_name"`
		DType       string // of the samples
	}
	File   string
	Epochs [][]svmBatch
}

// svmBatch is a batch of sparse samples.
type svmBatch struct {
	Data, Label storedRef
	Pad         int
}

// LibSVMCases reads the cases of LibSVMIter in sparse/libsvm.json.
func LibSVMCases(g *Golden) (list []Case, err error) {
	cases, err := casesOf[svmCase](g, "sparse/libsvm.json")
	for _, c := range cases {
		list = append(list, Case{ID: "libsvm/" + c.ID, Run: c.run})
	}
	return list, err
}

func (c *svmCase) run(env Env) error {
	k, file := &c.Kwargs, "sparse/"+c.File
	if t := k.DType; t != "" && t != dtype.Float32.String() {
		return missing("dtype %s of LibSVMIter", t)
	}
	var files []string
	for name := range strings.SplitSeq(k.DataLibSVM, ";") {
		files = append(files, env.Golden.Path("sparse/"+name))
	}
	cfg := dataio.LibSVMConfig{TextConfig: dataio.TextConfig{
		Data: strings.Join(files, ";"), DataShape: k.DataShape,
		LabelShape: k.LabelShape, BatchSize: k.BatchSize, NumParts: k.NumParts,
		PartIndex: k.PartIndex, DataName: k.DataName, LabelName: k.LabelName}}
	if k.LabelLibSVM != "" {
		cfg.Label = env.Golden.Path("sparse/" + k.LabelLibSVM)
	}
	if k.RoundBatch != nil && !*k.RoundBatch {
		cfg.LastBatch = dataio.Pad
	}
	it, err := dataio.LibSVMIter(cfg)
	if err != nil {
		return err
	}
	defer it.Close()
	for e, want := range c.Epochs {
		if err := svmEpoch(env.Golden, it, file, want); err != nil {
			return fmt.Errorf("epoch %d: %w", e, err)
		}
		if err := it.Reset(); err != nil {
			return err
		}
	}
	return nil
}

// svmEpoch compares the batches of one epoch.
func svmEpoch(g *Golden, it dataio.Iter, file string, want []svmBatch) error {
	for i := 0; ; i++ {
		b, err := it.Next(context.Background())
		switch {
		case errors.Is(err, io.EOF) && i == len(want):
			return nil
		case err != nil:
			return fmt.Errorf("batch %d of %d: %w", i, len(want), err)
		case i == len(want):
			return fmt.Errorf("goes on after %d batches", i)
		}
		if b.Pad != want[i].Pad {
			return fmt.Errorf("batch %d: pad %d, want %d", i, b.Pad, want[i].Pad)
		}
		for _, part := range []struct {
			name string
			list []*nd.Array
			want storedRef
		}{{"data", b.Data, want[i].Data}, {"label", b.Label, want[i].Label}} {
			if len(part.list) != 1 {
				return fmt.Errorf("batch %d: %d arrays of %s, want 1", i, len(part.list), part.name)
			}
			if err := compareStored(g, part.name, part.list[0], file, part.want); err != nil {
				return fmt.Errorf("batch %d: %w", i, err)
			}
		}
	}
}
