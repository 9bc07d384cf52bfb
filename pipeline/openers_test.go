//go:build cgo && linux

package pipeline_test

import (
	"testing"

	"gomx/kvstore/transport"
	"gomx/kvstore/transport/shm"
	"gomx/kvstore/transport/zmq"
)

// openers returns the transports that links are tested with.
func openers(*testing.T) map[string]func(transport.Config) (transport.Endpoint, error) {
	base := func(c transport.Config) (transport.Endpoint, error) {
		return zmq.Open(c,
			zmq.Options{})
	}
	return map[string]func(transport.Config) (transport.Endpoint, error){"mem": onNetwork(),
		"tcp": base, "shm": func(c transport.Config) (transport.Endpoint, error) {
			return shm.Open(c, shm.Options{Base: base})
		}}
}
