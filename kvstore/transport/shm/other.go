//go:build !linux

package shm

import (
	"errors"

	"gomx/kvstore/transport"
)

// Open says that this system has no memfd.
func Open(transport.Config, Options) (transport.Endpoint, error) {
	return nil, errors.New("shm: shared memory needs Linux")
}
