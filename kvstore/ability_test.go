package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// abilities lists the abilities that a store has.
func abilities(s kvstore.Store) string {
	var list []string
	add := func(name string, has bool) {
		if has {
			list = append(list, name)
		}
	}
	add("Exchanger", able[kvstore.Exchanger](s))
	add("Member", able[kvstore.Member](s))
	add("Synchronizer", able[kvstore.Synchronizer](s))
	add("Updater", able[kvstore.Updater](s))
	add("StateKeeper", able[kvstore.StateKeeper](s))
	add("Compressor", able[kvstore.Compressor](s))
	add("TableKeeper", able[kvstore.TableKeeper](s))
	add("Joint", able[kvstore.Joint](s))
	add("Resumer", able[kvstore.Resumer](s))
	add("Skipper", able[kvstore.Skipper](s))
	add("Snapshotter", able[kvstore.Snapshotter](s))
	return strings.Join(list, " ")
}

func able[T any](s kvstore.Store) bool {
	_, ok := kvstore.As[T](s)
	return ok
}

func TestAbilities(t *testing.T) {
	const common = "Synchronizer Updater StateKeeper Compressor TableKeeper"
	for _, name := range []string{"local", "device"} {
		kv := open(t, name)
		if got, want := abilities(kv), "Exchanger "+common; got != want {
			t.Errorf("%s: got abilities %s, want %s", name, got, want)
		}
		if kv.Rank() != 0 || kv.NumWorkers() != 1 || !kv.Sums() || kv.Resumed() != 0 ||
			kv.Backups() != 0 || kv.Skip() != 0 {
			t.Errorf("%s does not answer for one worker", name)
		}
	}
	c := cluster.Start(cluster.Config{Workers: 1, Servers: 1, Replicas: 1})
	work(t, c, "dist_async", func(_ context.Context, s *kvstore.KV) error {
		want := "Exchanger Member " + common + " Joint Resumer Skipper Snapshotter"
		if got := abilities(s); got != want {
			return fmt.Errorf("got abilities %s, want %s", got, want)
		}
		if s.Sums() {
			return errors.New("a store without rounds sums")
		}
		return nil
	})
}

// core is a store that has no ability beside the core of all stores.
type core struct{ kvstore.Store }

func (core) Name() string { return "ring" }

func TestMissingAbility(t *testing.T) {
	kv, ctx := kvstore.Wrap(core{open(t, "local")}), t.Context()
	if got := abilities(kv); got != "" {
		t.Errorf("got abilities %s, want none", got)
	}
	second := func(_ any, err error) error { return err }
	for call, c := range map[string]struct {
		err     error
		ability string
	}{
		"Barrier":            {kv.Barrier(ctx), "Synchronizer"},
		"SetOptimizer":       {kv.SetOptimizer(ctx, optimizer.SGD{}), "Updater"},
		"OptimizerStates":    {second(kv.OptimizerStates(ctx)), "StateKeeper"},
		"SetOptimizerStates": {kv.SetOptimizerStates(ctx, nil), "StateKeeper"},
		`Table("rows")`:      {second(kv.Table(ctx, "rows", nd.Shape{2, 2})), "TableKeeper"},
		"Clock":              {kv.Clock(ctx), "TableKeeper"},
		`InitSum("w")`:       {kv.InitSum(ctx, "w", nd.Ones(nd.Shape{1})), "Joint"},
		`Agree("batches")`:   {second(kv.Agree(ctx, "batches", 1)), "Joint"},
		"Snapshot(3)":        {kv.Snapshot(ctx, 3), "Snapshotter"},
		"SetCompression(2bit)": {kv.SetCompression(compress.Method{Kind: compress.TwoBit}),
			"Compressor"},
	} {
		want := fmt.Sprintf("kvstore: %s: found the store \"ring\", want one that is a kvstore.%s",
			call, c.ability)
		if c.err == nil || c.err.Error() != want {
			t.Errorf("got %v, want %s", c.err, want)
		}
	}
	out := nd.Zeros(nd.Shape{2})
	must(t, kv.SetCompression(compress.Method{}))
	must(t, kv.Init(ctx, "w", nd.Ones(nd.Shape{2})))
	must(t, kv.PushPull("w", 0, []*nd.Array{nd.Full(3, nd.Shape{2})}, []*nd.Array{out}))
	if v, err := out.Float32s(); err != nil || v[0] != 3 {
		t.Errorf("got %v, %v, want 3 after a push and a pull", v, err)
	}
	if got := fmt.Sprint(kv); got != "<Store ring>" {
		t.Errorf("got %s, want <Store ring>", got)
	}
}

func TestKindOf(t *testing.T) {
	for name, job := range map[string]bool{"local": false, "device": false, "dist_sync": true,
		"dist_device_async": true, "dist_ssp": true} {
		if k, err := kvstore.KindOf(name); err != nil || k.Name != name || k.Job != job {
			t.Errorf("%s: got %v, %v, want one of a job: %v", name, k, err, job)
		}
	}
	for _, name := range []string{"", "dist_", "dist_rsync", "Local"} {
		if _, err := kvstore.KindOf(name); err == nil ||
			!strings.Contains(err.Error(), "dist_ssp") {
			t.Errorf("%q: got %v, want an error that lists the stores", name, err)
		}
	}
}
