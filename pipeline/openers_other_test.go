//go:build !cgo || !linux

package pipeline_test

import (
	"testing"

	"gomx/kvstore/transport"
)

// openers returns the transports that links are tested with.
func openers(*testing.T) map[string]func(transport.Config) (transport.Endpoint, error) {
	return map[string]func(transport.Config) (transport.Endpoint, error){"mem": onNetwork()}
}
