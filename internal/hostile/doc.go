// Package hostile feeds decoders with files that somebody has damaged on purpose.
//
// A test makes a Kind of a decoder and of files that it accepts, and calls Run. Each of
// hostile.n mutations of a file is decoded, and must end without a panic, within a second, and
// without more memory than the file's size justifies: neither on the Go heap nor, for values of
// arrays, outside of it. Two thirds of the mutations set a number of the file to a value that
// counts, offsets and extents trip over; the others change bytes, cut, splice and repeat.
//
// The seed is printed; -hostile.seed repeats a run. make hostile runs 10,000 mutations of every kind.
package hostile
