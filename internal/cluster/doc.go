// Package cluster runs the processes of a job as goroutines of one program, over a network in
// memory. Tests use it, and comparisons that need no real machines.
//
//	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2})
//	err := c.Work(ctx, func(ctx context.Context, rank int) error {
//		kv, err := kvstore.Open(ctx, "dist_sync")
//		…
//	})
//	err = errors.Join(err, c.Wait())
//
// Work runs its function once per worker, with the worker's job in the context. The scheduler and
// the servers end when the workers have ended.
//
// # Faults
//
// Network loses, delays and partitions messages. Kill ends a server or the scheduler at any moment,
// as if its process had died. Restart starts a new process in its place, which has no state except
// for the files in a scheduler's folder.
package cluster
