package main

import (
	"context"
	"math/rand/v2"
	"slices"

	"gomx/kvstore"
)

// factors is a table, with the rows that the present step reads and changes.
type factors struct {
	*kvstore.Table
	rank      int
	ids       []int
	read, now []float32 // rows of ids, as read and with the changes of this step
}

// start adds random numbers to the share of the rows that belongs to a worker.
func (f *factors) start(rows int, kv *kvstore.KV) (err error) {
	r, row := rand.New(rand.NewPCG(2, uint64(kv.Rank()))), make([]float32, f.rank)
	for i := kv.Rank(); i < rows && err == nil; i += kv.NumWorkers() {
		for k := range row {
			row[k] = float32(0.3 * r.NormFloat64())
		}
		err = f.Inc(i, row)
	}
	return err
}

// fetch reads the rows of a step; ids may have a row more than once.
func (f *factors) fetch(ctx context.Context, ids []int) (err error) {
	f.ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	f.read, err = f.BatchGet(ctx, f.ids)
	f.now = slices.Clone(f.read)
	return err
}

// row returns a row that has been fetched. It may be changed.
func (f *factors) row(id int) []float32 {
	i, _ := slices.BinarySearch(f.ids, id)
	return f.now[i*f.rank : (i+1)*f.rank]
}

// commit adds the changes of the step to the table.
func (f *factors) commit() error {
	for i, v := range f.read {
		f.now[i] -= v
	}
	return f.BatchInc(f.ids, f.now)
}
