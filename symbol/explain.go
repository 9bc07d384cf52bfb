package symbol

import "gomx/compile"

// Explanation lists the changes that compiling the graph of one mode has made to it.
type Explanation = compile.Explanation

// PassReport lists the changes of one pass.
type PassReport = compile.PassReport

// LibraryUse lists the implementations that a library has chosen for a node.
type LibraryUse = compile.LibraryUse

// Explain binds s and lists the changes of the passes to its graph for training or inference.
func Explain(s *Symbol, c BindConfig, train bool) (*Explanation, error) {
	ex, err := s.SimpleBind(c)
	if err != nil {
		return nil, err
	}
	defer ex.Close()
	return ex.Explain(train)
}

// Explain lists the changes of the passes to the graph of a mode, which is compiled if it has not
// been.
func (ex *Executor) Explain(train bool) (*Explanation, error) {
	b, err := ex.program(train)
	if err != nil {
		return nil, err
	}
	return b.p.Explain(), nil
}
