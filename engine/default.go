package engine

import "sync"

// process holds the engine of the process. It is the one exception to engines being passed around:
// arrays made anywhere must be able to meet in one operation.
var process struct {
	mu sync.Mutex
	e  *Engine
}

// Default returns the engine of the process. The first call starts it with the zero Config unless
// SetDefault gave another.
func Default() *Engine {
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.e == nil {
		e, err := New(Config{})
		if err != nil {
			panic(err) // the zero Config is valid
		}
		process.e = e
	}
	return process.e
}

// SetDefault makes e the engine of the process and returns the one before, nil if there was none.
// Programs call it before anything uses Default, tests around a case. Variables belong to the
// engine that they were used with.
func SetDefault(e *Engine) (old *Engine) {
	process.mu.Lock()
	defer process.mu.Unlock()
	old, process.e = process.e, e
	return old
}
