package plant

import (
	"fmt"
	"go/token"
)

// Site is one fault that can be planted: bytes [From, To) of the file are replaced by Text.
type Site struct {
	File     string
	Line     int // from 1
	Column   int // from 1, in bytes
	From, To int // byte offsets in the file
	Text     string
	Fault    string // description, such as "== becomes !="
}

// Apply returns a copy of text with the fault in it.
func (s Site) Apply(text []byte) []byte {
	out := make([]byte, 0, len(text)+len(s.Text))
	out = append(out, text[:s.From]...)
	out = append(out, s.Text...)
	return append(out, text[s.To:]...)
}

// String is the position and the fault.
func (s Site) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", s.File, s.Line, s.Column, s.Fault)
}

// replace makes a site of the bytes between two positions.
func (f *finder) replace(from, to token.Pos, text, fault string) {
	p := f.fset.Position(from)
	f.sites = append(f.sites, Site{
		File: f.name, Line: p.Line, Column: p.Column,
		From: p.Offset, To: f.fset.Position(to).Offset, Text: text, Fault: fault,
	})
}
