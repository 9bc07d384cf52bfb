// Package optimizer updates parameters by their gradients, with MXNet's optimizers, learning-rate
// schedulers and rules.
//
// An optimizer is a plain struct of parameters; fields left zero have MXNet's defaults. Fields for
// which zero is a meaningful value have type op.Opt; nd.Some and sym.Some set them:
//
//	optimizer.SGD{LR: 0.05, Momentum: 0.9, WD: 1e-4}
//	optimizer.Adam{LR: 0.001, Beta1: nd.Some(0.5)}
//	optimizer.SGD{LR: 0.1, Common: optimizer.Common{
//		Clip: 5, Schedule: optimizer.CosineScheduler{MaxUpdate: 10000}}}
//
// An Updater runs one: it keeps the state arrays and update counts of the parameters, computes
// learning rate and weight decay of each and pushes the update operators, asynchronously:
//
//	u, err := optimizer.NewUpdater(optimizer.SGD{LR: 0.1}, []string{"fc_weight", "fc_bias"})
//	err = u.Update(0, weight, weight.Grad())
//
// # Rules
//
// The learning rate is the schedule's rate at the current number of updates, times the parameter's
// multiplier. Weight decay applies to parameters whose name ends in _weight or _gamma (LARS:
// _weight only), times the multiplier; so does it to parameters without a name. Multipliers come
// from Common, and from the attributes __lr_mult__ and __wd_mult__ of symbols by SetAttrs.
//
// With MultiPrecision, weights of type float16 are updated through a float32 copy that is part of
// the state.
//
// # Travelling
//
// Optimizers are sent to servers and saved as name and parameters, never as code: Encode and
// Decode, or New with MXNet's name and keyword arguments.
//
// An optimizer value may be shared; an Updater is used by one goroutine at a time.
package optimizer
