// Package trainer changes parameters by their gradients: with an optimizer in this process, or in a
// store that many processes share. Packages module and gluon train by it.
//
// A [Trainer] knows neither networks nor executors. It is given the parameters once, by Track, and
// the gradients of each batch, as [Gradients]:
//
//	t.Track([]trainer.Param{{Name: "w", Weights: []*nd.Array{w0, w1}}}) // on two devices
//	t.SetUpdater(u)                                                    // the optimizer
//	err := t.Reduce(g)                                                 // adds up over the devices
//	err = t.Step(g, steps)                                             // changes w0 and w1
//
// UseStore moves the optimizer into a store. A [Scaler] chooses the loss scale of mixed precision
// and lets Step pass over gradients that are not finite; LimitNorm clips gradients by their global
// norm. SaveStates and LoadStates read and write MXNet's .states files; Record, Arrays and Restore
// are the trainer's part of the file from which a run is resumed bit for bit, whose other parts
// [Run] describes.
//
// Errors name the parameter or the file, but not the package: callers say whose trainer it is.
package trainer
