// Package launch runs distributed programs: one binary that is scheduler, server or worker, as its
// environment says, and a launcher that starts all of them on this machine.
//
//	func main() { launch.Main(train) }
//
//	func train(ctx context.Context) error {
//		…
//		return mod.Fit(ctx, data, module.Store("dist_sync"))
//	}
//
// Started by hand, the program calls train with the context as it is, and stores such as local
// work. Started by
//
//	gomx launch -n 3 -s 2 --replicas 2 -- ./program --flags
//
// the same binary runs once as scheduler, twice as server and three times as worker. Only workers
// call train; they find the job in their context, where kvstore.Open and module.Fit look for it.
//
// # What happens when processes die
//
// The launcher starts them again. A scheduler continues from its file. A server gets copies of its
// shards from the others, if there are replicas; training goes on meanwhile. A worker takes over
// the place of the one that died and begins the program anew: Fit skips the batches that are done.
// A process that declares by its exit code that a restart would not help ends the job instead: see
// ExitFailed and the codes beside it.
//
// # The environment
//
// Environ lists the variables. Their names are MXNet's (DMLC_ROLE, DMLC_PS_ROOT_URI and so on), so
// that scripts and cluster schedulers that start MXNet's jobs start ours: the program's processes
// may be started by anything. This package and the commands are the only ones that read the
// environment.
package launch
