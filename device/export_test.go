package device

import "time"

// SetAwaitLimit changes the longest wait of an allocation and returns a function that restores it.
func SetAwaitLimit(d time.Duration) (restore func()) {
	old := awaitLimit
	awaitLimit = d
	return func() { awaitLimit = old }
}
