package engine

import (
	"fmt"
	"runtime"
	"time"

	"github.com/rs/zerolog"
)

// Config says how an engine works. The zero value is the default.
type Config struct {
	// Workers is the number of operations of the processor that run at once, and the number of cores that wide kernels share. Zero means runtime.GOMAXPROCS(0).
	Workers int
	// Naive runs every operation on the goroutine that pushes it, or on the one that completes what it waits for. For debugging: the stack of a failing body leads to its push.
	Naive bool
	// NoInline sends cheap operations through the queues too.
	NoInline bool
	// CallSites records where every one-shot operation was pushed, for error messages. It costs about 200 ns per push; reusable operations always know where they were made.
	CallSites bool
	// MaxOps is how many operations may be pending before Push makes its caller wait. Zero means 4096: their records fit into a processor's cache, which makes an operation two to four times cheaper than with 65536.
	// A program that must push more before the first can finish needs a larger number.
	MaxOps int
	// MaxBytes is how much memory pending operations may hold (the sum of Task.Bytes) before Push makes its caller wait. Zero means no limit.
	MaxBytes int64
	// Watchdog is how long nothing may finish while something is pending before the Logger gets a dump of who waits for whom. Zero turns it off.
	Watchdog time.Duration
	// Logger is told what no wait returns: a completion that came twice, a worker that is stuck. The zero value discards.
	Logger zerolog.Logger
}

const defaultMaxOps = 1 << 12

// validate fills in defaults and reports values that make no sense.
func (c *Config) validate() error {
	switch {
	case c.Workers < 0:
		return fmt.Errorf("engine: Config.Workers is %d, want at least 0", c.Workers)
	case c.MaxOps < 0:
		return fmt.Errorf("engine: Config.MaxOps is %d, want at least 0", c.MaxOps)
	case c.Watchdog < 0:
		return fmt.Errorf("engine: Config.Watchdog is %v, want at least 0", c.Watchdog)
	case c.MaxBytes < 0:
		return fmt.Errorf("engine: Config.MaxBytes is %d, want at least 0", c.MaxBytes)
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.MaxOps == 0 {
		c.MaxOps = defaultMaxOps
	}
	return nil
}
