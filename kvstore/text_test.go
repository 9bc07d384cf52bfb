package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gomx/internal/cluster"
	"gomx/kvstore"
	nd "gomx/ndarray"
)

// What fmt prints of stores and tables is short and says what they are.
func TestText(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	check := func(v any, want string) {
		if got := fmt.Sprint(v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	job := cluster.Start(cluster.Config{Workers: 2, Servers: 1, Replicas: 1})
	err := job.Work(ctx, func(ctx context.Context, rank int) error {
		kv, err := kvstore.Open(ctx, "dist_sync")
		if err != nil {
			return err
		}
		check(kv, fmt.Sprintf("<Store dist_sync: worker %d of 2>", rank))
		table, err := kv.Table(ctx, "rows", nd.Shape{5, 3})
		if err == nil {
			check(table, "<Table rows: 5 rows of 3 numbers>")
		}
		return errors.Join(err, kv.Close())
	})
	if err := errors.Join(err, job.Wait()); err != nil {
		t.Fatal(err)
	}
	kv, err := kvstore.Open(ctx, "local")
	if err != nil {
		t.Fatal(err)
	}
	defer kv.Close()
	check(kv, "<Store local: one process>")
	var none *kvstore.Table
	check(none, "<Table: nil>")
}
