//go:build !cgo

package zmq

import (
	"errors"

	"gomx/kvstore/transport"
)

// errNoC says why there is nothing here.
var errNoC = errors.New("zmq: this binary was built without cgo, which ZeroMQ needs; package mem " +
	"works within one process")

// Open says that the binary was built without ZeroMQ.
func Open(transport.Config, Options) (transport.Endpoint, error) { return nil, errNoC }

// KeepPages does nothing: the binary was built without ZeroMQ.
func KeepPages() {}

// NewKey says that the binary was built without ZeroMQ.
func NewKey() (Key, error) { return Key{}, errNoC }
