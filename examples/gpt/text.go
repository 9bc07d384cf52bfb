package main

import (
	"os"
	"path/filepath"

	nd "gomx/ndarray"
)

// read joins the contents of files, by default the pages of the manual.
func read(names []string) (text []byte, err error) {
	if len(names) == 0 {
		if names, err = filepath.Glob(filepath.Join("docs", "*.md")); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		part, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		text = append(text, part...)
	}
	return text, nil
}

// batch returns n pieces of a text, whose places next gives, and the letters behind each of theirs.
func batch(words []float32, n, length int, next func() int) (x, label *nd.Array) {
	var from, to []float32
	for range n {
		at := next()
		from = append(from, words[at:at+length]...)
		to = append(to, words[at+1:at+1+length]...)
	}
	return nd.FromSlice(from, n, length), nd.FromSlice(to, n, length)
}
