package gcm

// Forms lists the forms of the arithmetic that this processor has. Each is used until the next call
// of one of them.
func Forms() map[string]func() {
	f := map[string]func(){}
	if wide {
		f["256 bits"] = func() { lanes512 = false }
	}
	if lanes512 {
		f["512 bits"] = func() { lanes512 = true }
	}
	return f
}
