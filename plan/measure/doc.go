// Package measure measures a machine and networks for package plan, and measures real jobs beside
// their predictions.
//
//	m := measure.Measurer{Program: exe, Dir: folder}
//	host, err := m.Host(ctx)                       // seconds
//	n, c, err := m.Compute(ctx, symbol, shapes, 1) // some steps of training
//	p, err := plan.Predict(n, c, host, job, 0)
//
// All measurements run in processes of their own: this program again, by its hidden command
// NodeCommand. A network is measured by module.Fit with a store that does nothing. So its times are
// the times of a real step without communication, and its memory is the memory of a real process.
// Messages are measured by jobs of package launch that push and pull arrays of several sizes.
//
// A [Cache] keeps calibrations on disk.
package measure
