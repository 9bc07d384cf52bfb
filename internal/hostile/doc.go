// Package hostile tests decoders with files that were damaged on purpose.
//
// A test makes a Kind from a decoder and files that it accepts, and calls Run. Run decodes
// hostile.n mutations of the files. Each call must end without a panic, within a second, and must
// not use much more memory than the file's size, neither on the Go heap nor outside of it. Two
// thirds of the mutations set a number in the file to a value that counts, offsets and extents
// often handle wrongly; the others change, cut, splice and repeat bytes.
//
// The seed is printed; -hostile.seed repeats a run. The command make hostile runs 10,000 mutations
// of every kind.
package hostile
