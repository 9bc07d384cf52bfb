//go:build !amd64

package gcm

// Form is a form of the arithmetic.
type Form struct {
	Name string
	Use  func()
}

// Forms lists the forms of the arithmetic that this processor has: none.
func Forms() []Form { return nil }
