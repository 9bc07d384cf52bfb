package compile

// Check verifies the invariants of a program.
func (p *Program) Check() error { return p.check() }
