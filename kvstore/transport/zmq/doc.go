// Package zmq is the corner of gomx that speaks ZeroMQ, through github.com/zeromq/goczmq/v4 on
// libczmq. It needs cgo; without it only the in-memory transport of the parameter server exists.
//
// Version names the libraries a binary was built with, for bug reports:
//
//	$ gomx version
//	gomx 0.1.0, ..., libzmq 4.3, czmq 4.2
//
// Functions may be called from any goroutine.
package zmq
