package ps

// Loan is memory of a machine that a message refers to while a transport sends it. The driver of
// the machine passes it back by Release when the transport is done with it, in the driver's
// goroutine.
type Loan struct {
	// Lender is the owner of the memory, in the machine.
	Lender Lender
	// Back is for the driver of the machine: a function that notes that a transport is done with
	// the memory, made once and kept here.
	Back func()
}

// Lender takes back one reference to memory that was lent with a message.
type Lender interface{ Returned() }

// Return ends one use of the memory. A nil loan lends nothing.
func (l *Loan) Return() {
	if l != nil {
		l.Lender.Returned()
	}
}
