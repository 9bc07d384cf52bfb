//go:build !amd64

package gcm

// Forms lists the forms of the arithmetic that this processor has: none.
func Forms() map[string]func() { return nil }
