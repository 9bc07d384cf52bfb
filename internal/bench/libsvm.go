package bench

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"gomx/examples/data"
	dataio "gomx/io"
	nd "gomx/ndarray"
)

// Files in LibSVM's format of the suite io, and the batches that they are read in.
const (
	svmRows     = 32_768
	svmFeatures = 1_000_000
	svmFields   = 40
	svmBatch    = 256
)

// readingLines measures the processor time for a sample of a file in LibSVM's format, which is
// parsed anew in every epoch, as MXNet does.
func readingLines(name, file string) Workload {
	write := func(folder string) (path string, err error) {
		path = filepath.Join(folder, file)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", err
		}
		return path, writeSVM(path, file == "values.svm")
	}
	return perSample(name, write, func(ctx context.Context, path string) (
		epoch func() (int, error), close func() error, err error) {
		it, err := dataio.LibSVMIter(dataio.LibSVMConfig{TextConfig: dataio.TextConfig{Data: path,
			DataShape: nd.Shape{svmFeatures}, BatchSize: svmBatch}})
		if err != nil {
			return nil, nil, err
		}
		return epochOf(ctx, it), it.Close, nil
	})
}

// writeSVM writes clicks, whose values are 1, or elements with random values.
func writeSVM(path string, values bool) error {
	part := path + fmt.Sprintf(".%d", os.Getpid())
	if !values {
		c := data.Clicks{Features: svmFeatures, Fields: svmFields, Seed: 1}
		if _, err := c.Write(part, svmRows, 0); err != nil {
			return err
		}
		return os.Rename(part, path)
	}
	f, err := os.Create(part)
	if err != nil {
		return err
	}
	defer f.Close()
	w, r := bufio.NewWriter(f), rand.New(rand.NewPCG(1, 3))
	const width = svmFeatures / svmFields
	for range svmRows {
		fmt.Fprint(w, r.IntN(2))
		for k := range svmFields {
			fmt.Fprintf(w, " %d:%.6g", k*width+r.IntN(width), r.NormFloat64())
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return os.Rename(part, path)
}
