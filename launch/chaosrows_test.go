//go:build cgo && linux

package launch_test

import (
	"context"
	"testing"

	"gomx/dtype"
	"gomx/kvstore"
	"gomx/kvstore/rows"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// A job of chaosPlay has a sparse key beside the others: each worker pushes some rows in each step.
const (
	tableRows  = 500
	tableWidth = 4
)

var tableInit = rows.Init{Kind: rows.KindUniform, Scale: 2, Seed: 5}

// touched reports whether a worker pushes a row in a step.
func touched(rank, step, row int) bool { return (row*7+step*11+rank*5)%13 < 3 }

// initTable makes the sparse key.
func initTable(ctx context.Context, s *kvstore.KV) error {
	return s.InitRows(ctx, "rows", kvstore.RowsSpec{Shape: nd.Shape{tableRows, tableWidth},
		DType: dtype.Float32, Init: tableInit})
}

// pushTable pushes the rows of a step and returns an array that will have the rows of the next one.
func pushTable(s *kvstore.KV, step int) (*nd.Array, error) {
	shape := nd.Shape{tableRows, tableWidth}
	var ids, next []int64
	var g []float32
	for row := range tableRows {
		if touched(s.Rank(), step+1, row) {
			next = append(next, int64(row))
		}
		if !touched(s.Rank(), step, row) {
			continue
		}
		ids = append(ids, int64(row))
		for i := range tableWidth {
			g = append(g, pushed("rows", s.Rank(), step, row*tableWidth+i))
		}
	}
	if err := s.Push("rows", 0, nd.RowSparseFromSlices(g, ids, shape)); err != nil {
		return nil, err
	}
	out := nd.ZerosOf(nd.RowSparse, shape)
	return out, s.RowSparsePull("rows", 0, []*nd.Array{nd.FromSlice(next)}, []*nd.Array{out})
}

// tableAlone computes the checksum of the sparse key after the steps, row by row.
func tableAlone(t *testing.T, workers, steps int) uint32 {
	t.Helper()
	u, err := optimizer.NewUpdater(optimizer.SGD{LR: 0.125, Momentum: 0.5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []float32
	for row := range tableRows {
		b := make([]byte, 4*tableWidth)
		tableInit.Fill(b, dtype.Float32, 2, uint64(row))
		w := nd.Empty(nd.Shape{tableWidth})
		if err := w.WriteBytes(b); err != nil {
			t.Fatal(err)
		}
		for step := range steps {
			g, some := make([]float32, tableWidth), false
			for r := range workers {
				if !touched(r, step, row) {
					continue
				}
				some = true
				for i := range g {
					g[i] += pushed("rows", r, step, row*tableWidth+i)
				}
			}
			if !some {
				continue
			}
			if err := u.Update(row, w, nd.FromSlice(g)); err != nil {
				t.Fatal(err)
			}
		}
		v, err := w.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v...)
	}
	return checksum(all)
}
