// Package launch runs distributed programs. A program is one binary; its environment makes a
// process of it the scheduler, a server or a worker of a job. A launcher starts all processes of a
// job on this machine.
//
//	func main() { launch.Main(train) }
//
//	func train(ctx context.Context) error {
//		…
//		return mod.Fit(ctx, data, module.Store("dist_sync"))
//	}
//
// Without a job in its environment, the program calls train directly, and local stores work.
// Started by
//
//	gomx launch -n 3 -s 2 --replicas 2 -- ./program --flags
//
// the same binary runs once as the scheduler, twice as a server and three times as a worker. Only
// workers call train; kvstore.Open and module.Fit find the job in the context.
//
// # The death of a process
//
// The launcher starts a process that died again. A scheduler continues from its file. A server gets
// copies of its shards from the other servers, if there are replicas; training goes on meanwhile. A
// worker takes the place of the dead one and begins the program anew: Fit skips the batches that
// are done. A process ends the job instead by its exit code, which says that a restart would not
// help: see ExitFailed and the codes beside it.
//
// # The environment
//
// Environ lists the variables. Their names are MXNet's (DMLC_ROLE, DMLC_PS_ROOT_URI and so on), so
// that scripts and cluster schedulers for MXNet's jobs can start the processes. Only this package
// and the commands read the environment.
package launch
