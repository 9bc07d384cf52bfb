package kvstore

import (
	"fmt"
	"time"
)

// Option configures Open.
type Option func(*config)

// config holds the values of the options.
type config struct {
	staleness int
	timeout   time.Duration
}

// Staleness says, for dist_ssp, by how many clocks a worker may run ahead of the slowest one. 0 is
// the same as dist_sync.
func Staleness(clocks int) Option { return func(c *config) { c.staleness = clocks } }

// Timeout bounds every operation of a store for several processes: a longer one fails with an error
// that names the process it waited for. The default is 5 minutes.
func Timeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

const defaultTimeout = 5 * time.Minute

// validate fills in defaults and reports values that make no sense.
func (c *config) validate() error {
	if c.staleness < 0 {
		return fmt.Errorf("kvstore: staleness %d, want at least 0", c.staleness)
	}
	if c.timeout < 0 {
		return fmt.Errorf("kvstore: timeout %v, want a positive duration", c.timeout)
	}
	if c.timeout == 0 {
		c.timeout = defaultTimeout
	}
	return nil
}
