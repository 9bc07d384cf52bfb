package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// An Encoding is a text as a model of language reads it. All lists have one entry for each token.
type Encoding struct {
	// IDs are the numbers of the tokens.
	IDs []int
	// Types are 0 for the first text and 1 for the second, or as the file says.
	Types []int
	// Mask is 1 for tokens and 0 for padding.
	Mask []int
	// Special is 1 for tokens that the file adds: beginnings, ends, padding.
	Special []int
	// Tokens are the tokens as the vocabulary writes them.
	Tokens []string
	// Offsets are the bytes [from, to) of the text that the tokens come from; 0, 0 for tokens that
	// the file adds.
	Offsets [][2]int
}

// Len returns the number of tokens.
func (e *Encoding) Len() int { return len(e.IDs) }

func (e *Encoding) add(id, kind, mask, special int, token string, offset [2]int) {
	e.IDs = append(e.IDs, id)
	e.Types = append(e.Types, kind)
	e.Mask = append(e.Mask, mask)
	e.Special = append(e.Special, special)
	e.Tokens = append(e.Tokens, token)
	e.Offsets = append(e.Offsets, offset)
}

// A truncation shortens texts that are too long.
type truncation struct {
	Max_length int
	Stride     int
	Strategy   string
	Direction  string
}

func truncationOf(raw json.RawMessage) (*truncation, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	t := &truncation{Strategy: "LongestFirst", Direction: "Right"}
	if err := strict(raw, t); err != nil {
		return nil, err
	}
	for _, known := range []struct {
		field, value string
		values       []string
	}{
		{"strategy", t.Strategy, []string{"LongestFirst", "OnlyFirst", "OnlySecond"}},
		{"direction", t.Direction, []string{"Left", "Right"}},
	} {
		if !slices.Contains(known.values, known.value) {
			return nil, fmt.Errorf("%s %q is none of %v", known.field, known.value, known.values)
		}
	}
	if t.Max_length < 0 {
		return nil, fmt.Errorf("max_length is %d", t.Max_length)
	}
	return t, nil
}

// cut shortens the tokens of one or two texts to room tokens in all.
func (t *truncation) cut(a, b []token, pair bool, room int) ([]token, []token) {
	if len(a)+len(b) <= room {
		return a, b
	}
	n, m := len(a), len(b)
	switch {
	case !pair:
		n = room
	case t.Strategy == "OnlyFirst":
		n = max(room-m, 0)
	case t.Strategy == "OnlySecond":
		m = max(room-n, 0)
	default:
		short := min(n, m)
		long := max(short, room-short)
		if short+long > room {
			short, long = room/2, room/2+room%2
		}
		if n > m {
			n, m = long, short
		} else {
			n, m = short, long
		}
	}
	return t.end(a, n), t.end(b, m)
}

// end keeps n tokens of ts.
func (t *truncation) end(ts []token, n int) []token {
	if n >= len(ts) {
		return ts
	}
	if t.Direction == "Left" {
		return ts[len(ts)-n:]
	}
	return ts[:n]
}

// A padding makes encodings longer. to is the least length, 0 for the longest text of a batch. Both
// are rounded up to a multiple.
type padding struct {
	to, multiple, id, kind int
	token                  string
	left                   bool
}

func paddingOf(raw json.RawMessage) (*padding, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	s := struct {
		Strategy           json.RawMessage
		Direction          string
		Pad_to_multiple_of *int
		Pad_id             int
		Pad_type_id        int
		Pad_token          string
	}{Direction: "Right", Pad_token: "[PAD]"}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	if s.Direction != "Left" && s.Direction != "Right" {
		return nil, fmt.Errorf("direction %q is none of [Left Right]", s.Direction)
	}
	p := &padding{id: s.Pad_id, kind: s.Pad_type_id, token: s.Pad_token,
		left: s.Direction == "Left"}
	if s.Pad_to_multiple_of != nil {
		p.multiple = *s.Pad_to_multiple_of
	}
	if string(s.Strategy) == `"BatchLongest"` {
		return p, nil
	}
	var fixed struct{ Fixed *int }
	if err := strict(s.Strategy, &fixed); err != nil || fixed.Fixed == nil {
		return nil, fmt.Errorf(`strategy %s is neither "BatchLongest" nor {"Fixed": N}`, s.Strategy)
	}
	if p.to = *fixed.Fixed; p.to < 0 || p.to > mostPadding {
		return nil, fmt.Errorf("padding to %d tokens, want 0 to %d", p.to, mostPadding)
	}
	return p, nil
}

// mostPadding bounds the length that files and options can ask of every encoding.
const mostPadding = 1 << 20

// length returns the least length of an encoding, where the longest of its batch has n tokens.
func (p *padding) length(n int) int {
	if p.to > 0 {
		n = p.to
	}
	if p.multiple > 1 && n%p.multiple != 0 && p.multiple <= mostPadding {
		n += p.multiple - n%p.multiple
	}
	return n
}

// pad makes e n tokens long.
func (p *padding) pad(e *Encoding, n int) {
	if e.Len() >= n {
		return
	}
	var fill Encoding
	for range n - e.Len() {
		fill.add(p.id, p.kind, 0, 1, p.token, [2]int{})
	}
	head, tail := e, &fill
	if p.left {
		head, tail = tail, head
	}
	*e = Encoding{
		append(head.IDs, tail.IDs...), append(head.Types, tail.Types...),
		append(head.Mask, tail.Mask...), append(head.Special, tail.Special...),
		append(head.Tokens, tail.Tokens...), append(head.Offsets, tail.Offsets...),
	}
}

// An Option changes a tokenizer that With makes.
type Option func(*Tokenizer) error

// MaxLength shortens texts to n tokens, those that the file adds included; 0 stands for no limit.
func MaxLength(n int) Option {
	return func(t *Tokenizer) error {
		if n == 0 {
			t.truncation = nil
			return nil
		}
		c := truncation{Strategy: "LongestFirst", Direction: "Right"}
		if t.truncation != nil {
			c = *t.truncation
		}
		c.Max_length = n
		t.truncation = &c
		return nil
	}
}

// PadTo makes encodings at least n tokens long; 0 stands for no padding.
func PadTo(n int) Option {
	return func(t *Tokenizer) error {
		if n < 0 || n > mostPadding {
			return fmt.Errorf("padding to %d tokens, want 0 to %d", n, mostPadding)
		}
		if n == 0 {
			t.padding = nil
			return nil
		}
		return t.pads(n)
	}
}

// PadLongest makes all encodings of a batch as long as the longest of them.
func PadLongest() Option { return func(t *Tokenizer) error { return t.pads(0) } }

// pads sets the padding to n tokens with the padding token of the file.
func (t *Tokenizer) pads(n int) error {
	if t.padding != nil {
		p := *t.padding
		p.to = n
		t.padding = &p
		return nil
	}
	for _, s := range []string{"[PAD]", "<pad>", "<|endoftext|>", "</s>"} {
		if id, ok := t.ID(s); ok {
			t.padding = &padding{to: n, id: id, token: s}
			return nil
		}
	}
	return errors.New("the file names no token for padding")
}

// NoSpecial leaves out the tokens that the file adds before and after texts.
func NoSpecial() Option {
	return func(t *Tokenizer) error {
		t.template = template{trim: t.template.trim, prefix: t.template.prefix}
		return nil
	}
}
