package ndarray

import (
	"context"

	_ "gomx/device/cpu" // registers the memory of the processor
	"gomx/engine"
)

// WaitAll waits until nothing is pending on the engine of the process and returns the first
// failure since the last WaitAll.
func WaitAll(ctx context.Context) error { return engine.Default().WaitAll(ctx) }
