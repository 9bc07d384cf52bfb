package gcm

// Form is a form of the arithmetic. Use takes it until another one is taken.
type Form struct {
	Name string
	Use  func()
}

// Forms lists the forms that this processor has, the best one last.
func Forms() (list []Form) {
	if wide {
		list = append(list, Form{"256 bits", func() { lanes512 = false }})
	}
	if lanes512 {
		list = append(list, Form{"512 bits", func() { lanes512 = true }})
	}
	return list
}
