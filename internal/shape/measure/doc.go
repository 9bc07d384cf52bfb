// Package measure counts the properties of Go packages that a reader feels: lines of code and of
// tests, share of comments, number of stems, widest struct, largest type, long lines and comment
// lines with free relatives.
//
//	pkgs, err := measure.Tree(os.DirFS("."))
//	for _, p := range pkgs {
//		fmt.Println(p.Path, p.Code, p.Widest.Fields)
//	}
//
// The package reads text and syntax only. It runs no tests: coverage comes from profiles that
// `go test -coverprofile` wrote, see [Coverage].
//
// Generated files, files below testdata and modules nested in the tree do not count.
package measure
