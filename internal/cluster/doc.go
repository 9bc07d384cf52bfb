// Package cluster runs the processes of a job as goroutines of one program, over a network in
// memory: for tests, and for comparisons that need no machines.
//
//	c := cluster.Start(cluster.Config{Workers: 3, Servers: 2})
//	err := c.Work(ctx, func(ctx context.Context, rank int) error {
//		kv, err := kvstore.Open(ctx, "dist_sync")
//		…
//	})
//	err = errors.Join(err, c.Wait())
//
// Work runs its function once per worker, with the worker's job in the context. Scheduler and
// servers end when the workers have.
//
// # Disturbing it
//
// Network loses, delays and partitions messages; Kill ends a server or the scheduler in the middle
// of whatever it does, as if its process had died, and Restart begins a new one in its place, which
// has nothing but what a scheduler keeps in its folder.
package cluster
