// Package plant makes mutants of Go source: copies of a file with one small fault in each.
//
//	sites, err := plant.Sites("sched.go", text)
//	for _, s := range sites {
//		faulty := s.Apply(text)   // the file with this fault
//		fmt.Println(s)            // sched.go:70:14: == becomes !=
//	}
//
// The faults are the classic ones of mutation testing (DeMillo, Lipton, Sayward: Hints on Test Data
// Selection, 1978): a comparison is turned or moved by one, a condition negated, `&&` and `||`
// exchanged, `+` and `-` exchanged, an integer changed by one, a statement left out. A mutant may
// fail to compile; the caller finds that out and does not count it.
//
// Everything is pure: sites are in the order of the text, and the same text gives the same sites.
package plant
