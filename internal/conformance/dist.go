package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gomx/internal/cluster"
	"gomx/kvstore"
	"gomx/kvstore/compress"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

// distCase is a case of training, or of aggregating gradients, on several machines.
type distCase struct {
	ID, KVStore, File string
	Note              string // informative
	// Symbol is the network to train; empty: the case only pushes gradients.
	Symbol                  string
	Workers, Servers, Steps int
	// BigarrayBound is the number of elements above which arrays are split; 0: MXNet's default.
	BigarrayBound int `json:"bigarray_bound"`
	Keys          map[string][]int
	Results       []Ref

	golden *Golden
	env    Env
	mu     sync.Mutex
	order  []string // order of the keys in the results
}

// distTimeout bounds a case.
const distTimeout = time.Minute

func distCases(g *Golden) ([]Case, error) {
	cases, err := casesOf[distCase](g, "train/dist.json")
	if err != nil {
		return nil, err
	}
	var list []Case
	for _, c := range cases {
		c.File = "train/" + c.File
		list = append(list, Case{ID: "dist/" + c.ID, Run: c.run})
	}
	return list, nil
}

// run runs the job as goroutines of this process.
func (c *distCase) run(env Env) error {
	c.golden, c.env, c.order = env.Golden, env, nil
	for _, r := range c.Results {
		if name, _, ok := strings.Cut(r.Name, "/"); ok && !slices.Contains(c.order, name) {
			c.order = append(c.order, name)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), distTimeout)
	defer cancel()
	work := c.store
	if c.Symbol != "" {
		net, err := c.network(env.Golden)
		if err != nil {
			return err
		}
		work = func(ctx context.Context, rank int) error { return c.module(ctx, rank, net) }
	}
	cl := cluster.Start(cluster.Config{Workers: c.Workers, Servers: c.Servers, SliceSize: 4 *
		c.BigarrayBound})
	if err := cl.Work(ctx, work); err != nil {
		return err
	}
	return cl.Wait()
}

// result compares an array with a golden one. Workers take turns: only one may read a file, and it
// must not wait for the others while it does.
func (c *distCase) result(name string, x *nd.Array) error {
	i := slices.IndexFunc(c.Results, func(r Ref) bool { return r.Name == name })
	if i < 0 {
		return fmt.Errorf("no golden result %s", name)
	}
	if err := x.Wait(context.Background()); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return compareND(c.golden, name, x, c.File, c.Results[i])
}

// store pushes the gradients of the worker and compares the values that it pulls.
func (c *distCase) store(ctx context.Context, rank int) error {
	kv, err := kvstore.Open(ctx, c.KVStore)
	if err != nil {
		return err
	}
	return errors.Join(c.steps(ctx, kv, rank), kv.Close())
}

func (c *distCase) steps(ctx context.Context, kv *kvstore.KV, rank int) error {
	out := map[string]*nd.Array{}
	for _, key := range c.order {
		init, err := Fill("dist/init/"+key+"/data", c.Keys[key]).upload(c.env.Device)
		if err != nil {
			return err
		}
		out[key] = nd.Zeros(c.Keys[key], nd.On(c.env.Device))
		if err := kv.Broadcast(ctx, key, init, out[key]); err != nil {
			return err
		}
	}
	if err := c.configure(ctx, kv); err != nil {
		return err
	}
	for t := range c.Steps {
		for i, key := range c.order {
			grads, err := c.grads(key, rank, t)
			if err != nil {
				return err
			}
			if err := kv.Push(key, -i, grads...); err != nil {
				return err
			}
			if err := kv.Pull(key, -i, out[key]); err != nil {
				return err
			}
		}
		for _, key := range c.order {
			if err := c.result(fmt.Sprintf("%s/t%d", key, t), out[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

// configure sets the options of the case's mode.
func (c *distCase) configure(ctx context.Context, kv *kvstore.KV) error {
	switch c.mode() {
	case "sgd_momentum":
		return kv.SetOptimizer(ctx, optimizer.SGD{LR: 0.1, Momentum: 0.9, WD: 0.01,
			Common: optimizer.Common{Rescale: 1.0 / 3}})
	case "adam":
		return kv.SetOptimizer(ctx, optimizer.Adam{LR: 0.05})
	case "compress_2bit":
		return kv.SetCompression(compress.Method{Kind: compress.TwoBit, Threshold: 0.3})
	case "aggregate", "two_devices":
		return nil
	}
	return missing("mode %s", c.ID)
}

// mode returns the mode of the case: its id up to a dot.
func (c *distCase) mode() string {
	mode, _, _ := strings.Cut(c.ID, ".")
	return mode
}

// grads returns the gradients of a worker's devices.
func (c *distCase) grads(key string, rank, t int) ([]*nd.Array, error) {
	names := []string{fmt.Sprintf("dist/%s/r%d/t%d/data", key, rank, t)}
	if c.mode() == "two_devices" {
		names = nil
		for q := range 2 {
			names = append(names, fmt.Sprintf("dist/%s/r%d/t%d/d%d/data", key, rank, t, q))
		}
	}
	var list []*nd.Array
	for _, name := range names {
		x, err := Fill(name, c.Keys[key]).upload(c.env.Device)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}
