package data

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	dataio "gomx/io"
	"gomx/kvstore"
	"gomx/metric"
)

// Clicks is a made-up log of advertisements that were shown and clicked or not. A sample has one
// value in each of several fields, such as the user or the page; a value is a column. Few values of
// a field are frequent (Zipf). The label is 1 with the probability 1/(1+exp(-Score)), where Score
// has known weights and known factors.
//
// The weights are computed from the seed and the column, so that logs of any number of features
// need no memory.
type Clicks struct {
	Features int // number of columns, at least one for each field
	Fields   int // number of elements of a sample
	Rank     int // number of factors of a column, which give pairs of columns a weight; 0: none
	Seed     uint64
}

// Weight returns the weight of a column.
func (c Clicks) Weight(column int) float64 { return 2 * c.draw(column, 0) }

// Factor returns factor k of a column.
func (c Clicks) Factor(column, k int) float64 { return 0.5 * c.draw(column, 1+k) }

// draw returns a normally distributed number that belongs to a column.
func (c Clicks) draw(column, k int) float64 {
	return rand.New(rand.NewPCG(c.Seed, uint64(column)<<8|uint64(k))).NormFloat64()
}

// Score returns the logarithm of the odds of a click.
func (c Clicks) Score(columns []int) float64 {
	score := 0.0
	for _, i := range columns {
		score += c.Weight(i)
	}
	for k := range c.Rank {
		sum, squares := 0.0, 0.0
		for _, i := range columns {
			v := c.Factor(i, k)
			sum, squares = sum+v, squares+v*v
		}
		score += (sum*sum - squares) / 2
	}
	return score / math.Sqrt(float64(c.Fields))
}

// Sample draws the columns of a sample, in ascending order, and its label.
func (c Clicks) Sample(r *rand.Rand, columns []int) (_ []int, label int) {
	width := c.Features / c.Fields
	columns = columns[:0]
	zipf := rand.NewZipf(r, 1.2, 2, uint64(width-1))
	for f := range c.Fields {
		columns = append(columns, f*width+int(zipf.Uint64()))
	}
	if r.Float64() < 1/(1+math.Exp(-c.Score(columns))) {
		label = 1
	}
	return columns, label
}

// Write writes n samples in LibSVM's format, with values of 1. Files of several numbers part have
// samples of their own. It returns the mean log loss of the true probabilities, which no model can
// fall below on the average.
func (c Clicks) Write(path string, n int, part uint64) (best float64, err error) {
	if c.Fields < 1 || c.Features < c.Fields {
		return 0, fmt.Errorf("data: clicks of %d features in %d fields, want at least one in each",
			c.Features, c.Fields)
	}
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w, r := bufio.NewWriter(f), rand.New(rand.NewPCG(c.Seed, part))
	var columns []int
	var line []byte
	for range n {
		var label int
		columns, label = c.Sample(r, columns)
		best += math.Log1p(math.Exp(float64(1-2*label)*c.Score(columns))) / float64(n)
		line = strconv.AppendInt(line[:0], int64(label), 10)
		for _, i := range columns {
			line = append(strconv.AppendInt(append(line, ' '), int64(i), 10), ":1"...)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return 0, err
		}
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return best, f.Close()
}

// ClickFiles are files of clicks in LibSVM's format, for training and validation.
type ClickFiles struct {
	dataio.LibSVMConfig // of training; without Data every worker writes made-up clicks
	Test                string
	Clicks                     // made-up ones; DataShape has the number of features
	Folder              string // of made-up clicks
	Samples             int    // made-up ones of a worker, and a quarter as many for validation
}

// Open opens the files. Each worker of a store has a part of the training samples: bytes of the
// files, or batches where workers go in step.
func (c ClickFiles) Open(kv *kvstore.KV) (train, test *dataio.TextIter, err error) {
	rank, workers := kv.Rank(), kv.NumWorkers()
	if c.Data == "" {
		c.Features = c.DataShape[0]
		if err := os.MkdirAll(c.Folder, 0o755); err != nil {
			return nil, nil, err
		}
		c.Data = filepath.Join(c.Folder, fmt.Sprintf("train-%d.svm", rank))
		c.Test = filepath.Join(c.Folder, fmt.Sprintf("test-%d.svm", rank))
		if _, err := c.Write(c.Data, c.Samples, uint64(2*rank)); err != nil {
			return nil, nil, err
		}
		best, err := c.Write(c.Test, (c.Samples+3)/4, uint64(2*rank+1))
		if err != nil {
			return nil, nil, err
		}
		fmt.Printf("worker %d: made-up clicks; the loss of their true probabilities is %.4f\n",
			rank, best)
		workers = 1
	}
	if workers > 1 && !kv.Sums() {
		c.NumParts, c.PartIndex = workers, rank
	}
	if train, err = dataio.LibSVMIter(c.LibSVMConfig); err != nil {
		return nil, nil, err
	}
	if workers == 1 {
		rank = 0 // the files are this worker's part already
	}
	if c.NumParts == 0 {
		err = train.Shard(rank, workers)
	}
	if err == nil {
		c.Data, c.NumParts, c.PartIndex, c.LastBatch = c.Test, 0, 0, dataio.Pad
		test, err = dataio.LibSVMIter(c.LibSVMConfig)
	}
	if err != nil {
		return nil, nil, errors.Join(err, train.Close())
	}
	return train, test, nil
}

// LogLoss is the mean of the negative logarithms of the probabilities that a model gives to labels of
// 0 and 1.
func LogLoss() metric.Metric {
	return metric.Custom("loss", func(label, pred []float32) (sum float64, n int) {
		for i, p := range pred {
			if label[i] == 0 {
				p = 1 - p
			}
			sum -= math.Log(float64(p))
		}
		return sum, len(pred)
	})
}
