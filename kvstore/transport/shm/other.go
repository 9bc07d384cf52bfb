//go:build !linux

package shm

import (
	"errors"

	"gomx/kvstore/transport"
)

// Open returns an error, because this system has no memfd.
func Open(transport.Config, Options) (transport.Endpoint, error) {
	return nil, errors.New("shm: this system has no memfd, want Linux")
}
