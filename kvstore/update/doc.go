// Package update changes the values of keys: it runs optimizers on slices of keys, adds up
// contributions, and holds the values of a worker that keeps all keys itself. The servers of a job
// use it, and the workers of jobs without servers, so that both compute the same bits.
//
//	u, err := update.New()
//	err = u.SetSpec(spec) // name and parameters of an optimizer
//	u.Update(server.Update{ID: id, DType: t, Dst: value, Value: value, Grad: sum})
//	state := u.AppendState(nil, id)
package update
