//go:build !cgo

package bench

import (
	"context"
	"errors"
	"io"
)

// NodeCommand is the hidden command of gomx that runs RunNode.
const NodeCommand = "bench-node"

var errNeedsC = errors.New("bench: the suite kv needs ZeroMQ: build with cgo")

func (p *kvPlan) makeKeys() error { return errNeedsC }

// RunNode returns an error: the suite kv needs cgo.
func RunNode(context.Context, string, int, string, io.Reader, io.Writer) error { return errNeedsC }
