//go:build !cgo

package zmq

// Version says that the binary was built without ZeroMQ.
func Version() string { return "no ZeroMQ (built without cgo)" }
