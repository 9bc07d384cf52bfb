// Package gluon makes networks of Go values: a block is a struct with a Forward method over arrays,
// and the fields of the struct are its parts.
//
//	type Residual struct {
//		Conv1, Conv2 *nn.Conv2D
//		Norm1, Norm2 *nn.BatchNorm
//	}
//
//	func (r *Residual) Forward(x *nd.Array) *nd.Array {
//		y := nd.Relu(r.Norm1.Forward(r.Conv1.Forward(x)))
//		return nd.Relu(x.Add(r.Norm2.Forward(r.Conv2.Forward(y))))
//	}
//
//	net := gluon.New(nn.Sequential{
//		&nn.Conv2D{Channels: 16, Kernel: nn.Square(3)}, NewResidual(16),
//		&nn.GlobalAvgPool2D{}, &nn.Dense{Units: 10}})
//	err := net.Init(initializer.Xavier{})
//	tape := autograd.Train()                     // carries the mode: dropout drops
//	l := loss.SoftmaxCE{}.Forward(net.Forward(tape.Watch(x)), label)
//	l.Backward()
//
// Package nn has the layers, package rnn recurrent layers and cells, package loss the losses.
//
// # Parts and names
//
// The exported fields of a struct are looked through in order. A [Param] is a parameter; a pointer
// to a struct with a Forward method, or to a [Declarer], is a child; a slice holds children that
// are named by numbers. A part has the field's name in snake case (Conv1 is conv1), or the name
// that the tag gluon:"name" gives. The tag "-" leaves a field out, "+" makes the elements of a
// slice parts of the struct itself. The parts of an embedded struct belong to the struct, too. A
// parameter's name is the path to it, "features.0.weight", which is MXNet's structural name for
// MXNet's layers.
//
// A block that holds the same child or the same Param twice shares it: there is one array, and its
// gradient is the sum.
//
// # Parameters
//
// [Params] lists the parameters of a block: Init gives them values, Load and Save read and write
// the files of MXNet's load_parameters and save_parameters, Select chooses some of them by a
// pattern of their names. Extents that are not stated are found by the first call; before it the
// shape has 0 there.
//
// A block of one's own declares a parameter by [NewParam], and uses its values by At, which returns
// them on the device and the tape of its argument:
//
//	type Scale struct{ Gain *gluon.Param }
//
//	func (s *Scale) Forward(x *nd.Array) *nd.Array { return x.Mul(s.Gain.At(x)) }
//
// # Training
//
// A [Trainer] changes parameters by their gradients, over several devices and the workers of a job;
// [Resume] continues a training loop that was killed, also as a worker of a job.
//
// # Modes
//
// The tape of the input carries the mode: under autograd.Train dropout drops and batch
// normalization learns, without a tape nothing is recorded and layers are in inference.
//
// # Compiled networks
//
// [Net.Hybridize] lets a network run compiled: the next call runs Forward once with arrays that
// have a shape and no values, and compiles the operations that it calls. Graphs are kept by shapes,
// types, device and mode. Random numbers, moving averages and gradients are the same as line by
// line; reading a value while Forward is traced is an error that names the line.
//
//	net.Hybridize()
//	y := net.Forward(x)                // traced and compiled once
//	err := net.Export("runs/net", 5)   // for MXNet, too; gluon.Import reads it
//
// # Concurrency
//
// Many goroutines may call a network at once, hybridized or not, each with a tape of its own if it
// has one, and may add and remove hooks. Init, Load, Set, Cast, SetDevices and SetGradReq are for
// times in which nobody calls the network. A [Trainer] and a [Run] belong to one goroutine, which also
// calls Backward.
//
// # Errors
//
// Forward panics with *op.Error where the program is wrong, as the functions of package ndarray do:
// shapes that do not fit, parameters without values. Functions that read files or take
// configuration return errors.
package gluon
