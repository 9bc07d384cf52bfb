// Package random declares the operators that draw random numbers: from the uniform, normal,
// exponential, gamma, Poisson and negative binomial distributions, each three times:
//
//	_random_normal        parameters are numbers, the output has a given shape
//	_random_normal_like   parameters are numbers, the output has the shape of an input
//	_sample_normal        parameters are arrays; every element of them draws its own numbers
//
// and random integers, draws from discrete distributions (_sample_multinomial) and shuffling.
//
// # Reproducibility
//
// Numbers are functions of the call's Seed and of their place in the output, computed by the
// counter-based generator in package gomx/op/philox: they do not depend on the order of
// operations, on threads or on the device. Uniform and normal numbers use the layout that
// philox.Uniform and philox.Normal define, so faster kernels can make the same ones. Methods that
// reject candidates read further words of the stream that belongs to their element.
//
// # Gradients
//
// None flows through drawing, except that _sample_multinomial with get_prob lets the gradient of
// the log-likelihood flow back, for policy gradients.
package random
