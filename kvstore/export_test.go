package kvstore

import (
	"context"
	"time"

	"gomx/kvstore/ps"
	"gomx/kvstore/update"

	"github.com/rs/zerolog"
)

// LogOf returns the log of a worker's driver.
func LogOf(j *Job) *zerolog.Logger { return &j.driver.log }

// SetTimeout replaces the bound of a store's operations that begin from now on.
func SetTimeout(kv *KV, d time.Duration) { kv.Store.(*dist).cfg.timeout = d }

// Value returns what the servers have of a key of floats, also when an operation on the key has
// failed.
func Value(ctx context.Context, kv *KV, key string) ([]float32, error) {
	x := kv.Store.(*dist)
	k := x.keys[key]
	b := make([]byte, 4*k.shape.Size())
	_, err := x.job.wait(ctx, x.cfg.timeout, func(now, deadline ps.Time) (uint64, error) {
		return x.job.worker.Pull(now, k.id, b, 0, deadline)
	})
	return update.Floats(b), err
}
