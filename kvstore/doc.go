// Package kvstore shares parameters by name: between the devices of a process, or between the
// processes of a job that a scheduler holds together.
//
//	kv, err := kvstore.Open(ctx, "local")
//	err = kv.Init(ctx, "w", w)
//	err = kv.Push("w", 0, gradOfDevice0, gradOfDevice1) // adds them up
//	err = kv.Pull("w", 0, w)
//
// # Stores
//
//   - local adds up gradients on the processor, device where the values are. On several GPUs device
//     uses NCCL where the machine has it (package joint), otherwise copies between two at a time.
//   - dist_sync waits, key by key, for the gradients of all workers, adds them up in the order of the
//     workers' ranks, whenever they arrive, and lets every worker go on with the result: a run repeats
//     bit for bit. dist_device_sync is the same.
//   - dist_async applies every push as it comes. dist_ssp bounds by how many clocks the workers drift
//     apart.
//
// Without an optimizer a push replaces the value by the sum of the gradients, as in MXNet; with one
// (SetOptimizer) the sum is the gradient of an update, which happens where the value is.
//
// # Abilities
//
// A Store shares values by name. Everything else that a store may do is an ability, an interface of
// its own: running an optimizer (Updater), barriers (Synchronizer), tables of rows (TableKeeper),
// snapshots (Snapshotter) and so on. As finds an ability of a store, Need returns an error that
// names the store and the ability. Open returns a KV, which has the methods of all abilities. The
// stores of one process have all but Member, Joint, Resumer, Skipper and Snapshotter; the stores of
// a job have all. KindOf tells both apart before one is open.
//
// # Rows
//
// A value that Init gets as a row_sparse array is sparse: a push changes the rows that its gradients
// store, and RowSparsePull reads the rows that somebody asks for. In a job the servers hold the rows
// that somebody has pushed, and no others: InitRows makes a matrix of any size without values, whose
// rows begin with numbers that are a function of a seed and the row (package rows). Optimizers
// change pushed rows alone.
//
//	err = kv.InitRows(ctx, "emb", kvstore.RowsSpec{Shape: nd.Shape{100e6, 16}, DType: dtype.Float32,
//		Init: rows.Init{Kind: rows.KindUniform, Scale: 0.01, Seed: 1}})
//	err = kv.Push("emb", 0, grad)                                  // row_sparse
//	err = kv.RowSparsePull("emb", 0, []*nd.Array{ids}, []*nd.Array{w}) // w is row_sparse
//
// # Asynchrony
//
// Push and Pull are operations of the engine: they return at once, wait for the arrays that they
// read, and let other operations wait for the arrays that they write. Errors poison the pulled
// arrays, and reach the caller that waits for such an array.
//
// # Compression
//
// SetCompression makes gradients smaller on their way; package compress has the codes. The residual
// stays with the worker.
//
// # Snapshots
//
// The stores of a job are Snapshotters: Snapshot writes everything that the servers hold, as of one
// moment, to JobConfig.Snapshots (gomx launch --snapshots). A job continues from one with
// JobConfig.Restore (gomx launch --resume), bit for bit, and Resumed says how many steps are in it.
package kvstore
