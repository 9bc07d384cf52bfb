package shm

import (
	"errors"
	"fmt"
	"time"

	"gomx/kvstore/transport"
)

// Options are the parameters of the transport. Base is required.
type Options struct {
	// Base opens the endpoint that carries messages and small payloads.
	Base func(transport.Config) (transport.Endpoint, error)
	// Threshold is the size in bytes of the smallest payload that goes through shared memory; 0
	// means 16 KiB. With several workers payloads of 31 KB are a third faster than over a local
	// socket; below the default there is no gain.
	Threshold int
	// Memory is the size of a segment in bytes, rounded up to places of 64 KiB; 0 means 16 MiB.
	// Only the used pages take memory.
	Memory int
	// Stuck is the time after which a full segment is replaced, and for which the segment of a
	// process that has ended is kept for its last messages; 0 means 10 s.
	Stuck time.Duration
}

func (o *Options) check() error {
	if o.Base == nil {
		return errors.New("shm: Options.Base is nil, want a function that opens the base transport")
	}
	if o.Threshold < 0 || o.Memory < 0 || o.Memory > 64<<20-64<<10 || o.Stuck < 0 {
		return fmt.Errorf("shm: threshold %d, memory %d, stuck %s; want none below 0 and memory "+
			"below 64 MiB", o.Threshold, o.Memory, o.Stuck)
	}
	if o.Threshold == 0 {
		o.Threshold = 16 << 10
	}
	o.Threshold = max(o.Threshold, 64)
	if o.Memory == 0 {
		o.Memory = 16 << 20
	}
	if o.Stuck == 0 {
		o.Stuck = 10 * time.Second
	}
	return nil
}
