package kvstore_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gomx/dtype"
	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/compress"
	"gomx/kvstore/rows"
	"gomx/kvstore/transport"
	nd "gomx/ndarray"
)

// TestCompressedRows pushes rows in all codes to servers that add them up. Codes of single elements
// give the sums of the codes of each row, whose errors stay with the row; the others leave out less
// than a few gradients.
func TestCompressedRows(t *testing.T) {
	const steps = 12
	shape := nd.Shape{tableRows, tableWidth}
	for _, m := range []compress.Method{{Kind: compress.Half}, {Kind: compress.BHalf},
		{Kind: compress.TwoBit, Threshold: 0.75}, {Kind: compress.OneBit},
		{Kind: compress.TopK, Ratio: 0.5}} {
		want, sum := make([]float32, shape.Size()), make([]float32, shape.Size())
		left := make([]float32, shape.Size())
		for step := range steps {
			g := rowGradient(0, step)
			ids, err := g.Indices()
			must(t, err)
			data, err := g.Data()
			must(t, err)
			v := values(t, data)
			for i, id := range ids {
				lo, hi := int(id)*tableWidth, (int(id)+1)*tableWidth
				code, err := m.Append(nil, v[i*tableWidth:(i+1)*tableWidth], left[lo:hi])
				must(t, err)
				must(t, compress.Add(want[lo:hi], m.Kind, code))
				for j, x := range v[i*tableWidth : (i+1)*tableWidth] {
					sum[lo+j] += x
				}
			}
		}
		exact := m.Kind != compress.OneBit && m.Kind != compress.TopK
		c := cluster.Start(cluster.Config{Workers: 1, Servers: 2, Replicas: 2})
		work(t, c, "dist_async", func(ctx context.Context, s *kvstore.KV) error {
			if err := s.SetCompression(m); err != nil {
				return err
			}
			err := s.InitRows(ctx, "t", kvstore.RowsSpec{Shape: shape, DType: dtype.Float32})
			if err != nil {
				return err
			}
			for step := range steps {
				if err := s.Push("t", 0, rowGradient(0, step)); err != nil {
					return err
				}
			}
			out := nd.Zeros(shape)
			if err := s.Pull("t", 0, out); err != nil {
				return err
			}
			got, err := out.Float32s()
			if err != nil || exact && !slices.Equal(got, want) {
				return fmt.Errorf("%v: %v, %v, want %v", m.Kind, got, err, want)
			}
			for i := range got {
				if d := math.Abs(float64(got[i] - sum[i])); d > 8 {
					return fmt.Errorf("%v: element %d is %v, the sum of gradients %v", m.Kind, i,
						got[i],
						sum[i])
				}
			}
			return nil
		})
	}
}

// TestCompressedRowsInRounds adds up compressed rows of several workers.
func TestCompressedRowsInRounds(t *testing.T) {
	shape := nd.Shape{8, 4}
	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2, Replicas: 2})
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		if err := s.SetCompression(compress.Method{Kind: compress.TwoBit}); err != nil {
			return err
		}
		err := s.InitRows(ctx, "t", kvstore.RowsSpec{Shape: shape, DType: dtype.Float32})
		if err != nil {
			return err
		}
		// The error of row 2 stays through a step without it.
		for step, g := range []float32{0.3, 0.3, 0.3} {
			id := 2
			if step == 1 {
				id = 5
			}
			err := s.Push("t", 0, nd.RowSparseFromSlices([]float32{g, 2 * g, -2 * g, 0}, []int{id},
				shape))
			if err != nil {
				return err
			}
			_, v, err := pulled(s, "t", shape, int64(id))
			want := [][]float32{{0, 1.5, -1.5, 0}, {0, 1.5, -1.5, 0}, {1.5, 1.5, -1.5, 0}}[step]
			if err != nil || !slices.Equal(v, want) {
				return fmt.Errorf("step %d: row %d is %v, %v, want %v", step, id, v, err, want)
			}
		}
		return nil
	})
}

// TestRefusedRowCodes wants an error that names the key where rows cannot be compressed.
func TestRefusedRowCodes(t *testing.T) {
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 4})
	work(t, c, "dist_sync", func(ctx context.Context, s *kvstore.KV) error {
		if err := s.SetCompression(compress.Method{Kind: compress.Half}); err != nil {
			return err
		}
		shape := nd.Shape{1 << 33, 1}
		err := s.InitRows(ctx, "t", kvstore.RowsSpec{Shape: shape, DType: dtype.Float32})
		if err != nil {
			return err
		}
		if err := s.Push("t", 0, nd.RowSparseFromSlices([]float32{1}, []int{1 << 32},
			shape)); err != nil {
			return err
		}
		if _, _, err = pulled(s, "t", shape, 1); err == nil {
			return fmt.Errorf("rows beyond 2^32 are compressed")
		}
		return nil
	})
}

// TestBytesOfRows counts the bytes that a worker sends for a row of 16 floats: each row once, and
// its number as a difference.
func TestBytesOfRows(t *testing.T) {
	const all, width, draws = 100_000_000, 16, 40_000
	shape := nd.Shape{all, width}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(6, 6)), 1.1, 1000, all-1)
	counts := map[int]float32{}
	for range draws {
		counts[int(zipf.Uint64())]++
	}
	var ids []int
	for id := range counts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	v := make([]float32, len(ids)*width)
	for i := range v {
		v[i] = rand.Float32()
	}
	for _, tt := range []struct {
		kind compress.Kind
		row  float64 // bytes of the values of a row
	}{{compress.None, 64}, {compress.Half, 32}, {compress.TwoBit, 4}} {
		c := cluster.Start(cluster.Config{Workers: 1, Servers: 2})
		cfg := c.Worker(0)
		open := cfg.Open
		var ep transport.Endpoint
		cfg.Open = func(t transport.Config) (transport.Endpoint, error) {
			var err error
			ep, err = open(t)
			return ep, err
		}
		job, err := kvstore.Join(t.Context(), cfg)
		must(t, err)
		ctx := kvstore.WithJob(t.Context(), job)
		s, err := kvstore.Open(ctx, "dist_sync")
		must(t, err)
		must(t, s.SetCompression(compress.Method{Kind: tt.kind}))
		must(t, s.InitRows(ctx, "t", kvstore.RowsSpec{Shape: shape, DType: dtype.Float32,
			Init: rows.Init{Kind: rows.KindUniform, Scale: 0.1}}))
		each := math.Inf(1)
		for range 3 { // a message that is answered late on a busy machine is sent again
			before := ep.(transport.Metered).Stats().SentBytes
			must(t, s.Push("t", 0, nd.RowSparseFromSlices(v, ids, shape)))
			must(t, s.Barrier(ctx))
			sent := ep.(transport.Metered).Stats().SentBytes - before
			each = min(each, float64(sent)/float64(len(ids)))
		}
		t.Logf("%v: %.2f bytes for each of %d distinct rows of %d", tt.kind, each, len(ids), draws)
		if each > tt.row+3 {
			t.Errorf("%v: %.2f bytes a row, want at most %v for the values and 3 for the number",
				tt.kind, each, tt.row)
		}
		must(t, s.Close())
		must(t, job.Close(ctx))
		must(t, c.Wait())
	}
}
