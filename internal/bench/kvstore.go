//go:build cgo

package bench

import (
	"context"
	"errors"

	"gomx/kvstore"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
)

// config is the configuration of a process of a job with a store.
func (p *kvPlan) config(n wire.Node) kvstore.JobConfig {
	return kvstore.JobConfig{Node: n, Scheduler: p.scheduler(), ID: kvJob, Workers: p.Workers,
		Servers: p.servers(), Replicas: p.Replicas,
		Open: p.open, SliceSize: p.Slice}
}

// serve runs a scheduler or a server.
func (p *kvPlan) serve(ctx context.Context, role string, rank int) error {
	n := kvServer(rank)
	if role == "scheduler" {
		n = wire.Node{Role: wire.Scheduler}
	}
	if err := kvstore.Serve(ctx, p.config(n)); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// kvStore is a worker with a store.
type kvStore struct {
	job         *kvstore.Job
	store       *kvstore.KV
	grads, outs []*nd.Array
}

// join joins a job as a worker.
func (p *kvPlan) join(ctx context.Context, rank int) (*kvStore, error) {
	job, err := kvstore.Join(ctx, p.config(kvWorker(rank)))
	if err != nil {
		return nil, err
	}
	name := "dist_sync"
	if p.Ring {
		name = "allreduce"
	}
	s, err := kvstore.Open(kvstore.WithJob(ctx, job), name)
	if err != nil {
		return nil, err
	}
	shape := nd.Shape{p.Floats}
	w := &kvStore{job, s, []*nd.Array{nd.Ones(shape)}, []*nd.Array{nd.Zeros(shape)}}
	return w, s.Init(ctx, "w", w.grads[0])
}

// rounds starts operations without waiting, as peers/kv.py does; the store runs operations on one
// key one after the other.
func (w *kvStore) rounds(ctx context.Context, n int) error {
	for range n {
		if err := w.store.PushPull("w", 0, w.grads, w.outs); err != nil {
			return err
		}
	}
	return w.outs[0].Wait(ctx)
}

func (w *kvStore) close(ctx context.Context) error {
	return errors.Join(w.store.Close(), w.job.Close(ctx))
}
