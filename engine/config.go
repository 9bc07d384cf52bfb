package engine

import (
	"fmt"
	"runtime"
	"time"

	"github.com/rs/zerolog"
)

// Config holds the settings of an engine. The zero value is the default.
type Config struct {
	// Workers is the number of operations of the processor that run at once, and the number of
	// cores that wide kernels share. Zero means runtime.GOMAXPROCS(0).
	Workers int
	// Naive runs every operation on the goroutine that pushes it, or on the goroutine that
	// completes its last input. It is for debugging: the stack of a failing body leads to its push.
	Naive bool
	// NoInline sends cheap operations through the queues too.
	NoInline bool
	// CallSites records the line that pushed each operation, for error messages. It costs about 200
	// ns per push.
	CallSites bool
	// MaxOps is the number of pending operations at which Push makes its caller wait. Zero means
	// 4096: their records fit into the cache of a processor, which makes an operation two to four
	// times cheaper than with 65536 (BenchmarkQueue1). A program that must push more before the
	// first can finish needs a larger number.
	MaxOps int
	// MaxBytes is the memory in bytes, summed from Task.Bytes, that pending operations may hold
	// before Push makes its caller wait. Zero means no limit.
	MaxBytes int64
	// Watchdog is the time without any completion, while operations are pending, after which the
	// Logger gets a dump of the engine. Zero turns it off.
	Watchdog time.Duration
	// Logger gets events that no wait returns: a completion that came twice, a worker that is
	// stuck. The zero value discards them.
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
