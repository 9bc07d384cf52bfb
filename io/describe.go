package io

import (
	"fmt"
	"strings"
)

// String describes the iterator by its arrays and the number of its batches.
func (t *Table) String() string {
	if t == nil {
		return "<Table: nil>"
	}
	return describe("Table", t)
}

// String describes the iterator by its arrays and the number of its batches.
func (it *ImageRecords) String() string {
	if it == nil {
		return "<ImageRecords: nil>"
	}
	return describe("ImageRecords", it.Table)
}

// String describes the iterator by its arrays and the number of its batches.
func (t *TextIter) String() string {
	if t == nil {
		return "<TextIter: nil>"
	}
	return describe("TextIter", t.Table)
}

// String describes the iterator by the arrays of its default bucket and the number of its batches.
func (it *BucketSentences) String() string {
	if it == nil {
		return "<BucketSentences: nil>"
	}
	return describe("BucketSentences", it)
}

// String describes the iterator by the iterator that it reads ahead of.
func (p *Prefetcher) String() string {
	if p == nil {
		return "<Prefetcher: nil>"
	}
	return fmt.Sprintf("<Prefetcher of %v, %d batches ahead>", p.it, p.depth)
}

// describe formats the kind of an iterator, its arrays and the number of its batches.
func describe(kind string, it interface {
	Iter
	Counter
}) string {
	var list []string
	for _, d := range append(it.ProvideData(), it.ProvideLabel()...) {
		list = append(list, fmt.Sprintf("%s %v", d.Name, d.Shape))
	}
	return fmt.Sprintf("<%s of %s: %d batches>", kind, strings.Join(list, ", "), it.Batches())
}
