package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// TestInitSum pushes to such a key: pushes are added as they are, with any optimizer and
// compression, in rounds and without them; other keys are the optimizer's.
func TestInitSum(t *testing.T) {
	const n, steps = 2500, 3
	for _, name := range []string{"dist_sync", "dist_async", "dist_ssp"} {
		c := cluster.Start(cluster.Config{Workers: 2, Servers: 2, Replicas: 2, SliceSize: 4096})
		work(t, c, name, func(ctx context.Context, s *kvstore.KV) error {
			out, other := nd.Zeros(nd.Shape{n}), nd.Zeros(nd.Shape{n})
			err := errors.Join(s.SetCompression(compress.Method{Kind: compress.TwoBit,
				Threshold: 0.5}), s.InitSum(ctx, "average", nd.Full(8, nd.Shape{n})),
				s.Init(ctx, "w", nd.Zeros(nd.Shape{n})),
				s.SetOptimizer(ctx, optimizer.SGD{LR: 1, WD: 0.5}))
			if err != nil {
				return err
			}
			for range steps {
				change := nd.Full(float64(s.Rank()+1)/4, nd.Shape{n})
				if err := errors.Join(s.PushPull("average", 0, []*nd.Array{change},
					[]*nd.Array{out}), s.PushPull("w", 0, []*nd.Array{nd.Ones(nd.Shape{n})},
					[]*nd.Array{other})); err != nil {
					return err
				}
			}
			if err := errors.Join(out.Wait(ctx), other.Wait(ctx), s.Barrier(ctx),
				s.Pull("average", 0, out)); err != nil {
				return err
			}
			v, err := out.Float32s()
			if err != nil {
				return err
			}
			if want := float32(8 + steps*0.75); v[0] != want || v[n-1] != want {
				return fmt.Errorf("%s: %v and %v, want %v", name, v[0], v[n-1], want)
			}
			w, err := other.Float32s()
			if err == nil && w[0] >= 0 {
				err = fmt.Errorf("%s: the optimizer has left w at %v", name, w[0])
			}
			return err
		}, kvstore.Staleness(1))
	}
}
