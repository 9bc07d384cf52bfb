//go:build cgo

package zmq

import (
	"fmt"

	"github.com/zeromq/goczmq/v4"
)

// Version names the ZeroMQ libraries that the binary was built with.
func Version() string {
	return fmt.Sprintf("libzmq %d.%d, czmq %d.%d",
		goczmq.ZMQVersionMajor, goczmq.ZMQVersionMinor, goczmq.CZMQVersionMajor,
		goczmq.CZMQVersionMinor)
}
