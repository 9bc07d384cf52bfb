package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A splitter cuts one piece of letters into several, and may change their code points.
type splitter func(piece) []piece

// splitterOf reads the part "pre_tokenizer" of a file; null gives nil.
func splitterOf(raw json.RawMessage) (splitter, error) {
	kind, err := kindOf(raw)
	if err != nil || kind == "" {
		return nil, err
	}
	bare := func() error { return strict(raw, &struct{ Type string }{}) }
	switch kind {
	case "Sequence":
		return splittersOf(raw)
	case "BertPreTokenizer":
		return func(p piece) []piece {
			return splitRunes(p, isSpace, removed, isPunctuation, isolated)
		}, bare()
	case "Whitespace":
		return splitWords, bare()
	case "WhitespaceSplit":
		return func(p piece) []piece { return splitRunes(p, isSpace, removed, nil, 0) }, bare()
	case "Punctuation":
		return punctuationSplitter(raw)
	case "Digits":
		return digitSplitter(raw)
	case "CharDelimiterSplit":
		var s struct{ Type, Delimiter string }
		if err := strict(raw, &s); err != nil {
			return nil, err
		}
		r, n := utf8.DecodeRuneInString(s.Delimiter)
		if n == 0 || n != len(s.Delimiter) {
			return nil, fmt.Errorf("delimiter %q is not one character", s.Delimiter)
		}
		return func(p piece) []piece {
			return splitRunes(p, func(c rune) bool { return c == r }, removed, nil, 0)
		}, nil
	case "Split":
		return patternSplitter(raw)
	case "ByteLevel":
		return byteSplitter(raw)
	case "Metaspace":
		return metaSplitter(raw)
	}
	return nil, fmt.Errorf("pre-tokenizer %q is not supported", kind)
}

func splittersOf(raw json.RawMessage) (splitter, error) {
	var s struct {
		Type          string
		Pretokenizers []json.RawMessage
	}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	list, err := steps("pretokenizers", s.Pretokenizers, splitterOf)
	if err != nil {
		return nil, err
	}
	return func(p piece) []piece {
		ps := []piece{p}
		for _, one := range list {
			var next []piece
			for _, p := range ps {
				next = append(next, one(p)...)
			}
			ps = next
		}
		return ps
	}, nil
}

// A behavior says where the delimiters of a split go.
type behavior int

const (
	removed behavior = iota
	isolated
	mergedWithPrevious
	mergedWithNext
	contiguous
)

func (b *behavior) UnmarshalJSON(raw []byte) error {
	names := []string{"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	i := slices.Index(names, s)
	if i < 0 {
		return fmt.Errorf("behavior %q is none of %v", s, names)
	}
	*b = behavior(i)
	return nil
}

// A segment is a part of the letters of a piece: a delimiter, or letters between delimiters.
type segment struct {
	from, to  int
	delimiter bool
}

// segments returns the parts of n letters, of which the pairs found are delimiters. With invert the
// pairs are kept and all else are delimiters.
func segments(found [][2]int, n int, invert bool) []segment {
	out := make([]segment, 0, 2*len(found)+1)
	at := 0
	for _, m := range found {
		if m[0] > at {
			out = append(out, segment{at, m[0], invert})
		}
		out = append(out, segment{m[0], m[1], !invert})
		at = m[1]
	}
	if n > at {
		out = append(out, segment{at, n, invert})
	}
	return out
}

// splitAt cuts p into the segments, with the delimiters where b says.
func splitAt(p piece, segs []segment, b behavior) []piece {
	var out []piece
	from := 0
	for i, s := range segs {
		end := i == len(segs)-1
		switch next := !end && segs[i+1].delimiter; {
		case b == removed && s.delimiter:
			from = s.to
			continue
		case end, b == removed, b == isolated:
			end = true
		case b == contiguous:
			end = next != s.delimiter
		case b == mergedWithPrevious:
			end = s.delimiter || !next
		case b == mergedWithNext:
			end = !s.delimiter || next
		}
		if end {
			out = append(out, piece{p.letters[from:s.to:s.to], -1, p.first && from == 0})
			from = s.to
		}
	}
	return out
}

// splitRunes cuts p at the letters that is or also accept.
func splitRunes(p piece, is func(rune) bool, b behavior, also func(rune) bool, c behavior) []piece {
	var out []piece
	at := 0
	end := func(i int) {
		if i > at {
			out = append(out, piece{p.letters[at:i:i], -1, p.first && at == 0})
		}
		at = i
	}
	for i, l := range p.letters {
		how := b
		if !is(l.r) {
			if also == nil || !also(l.r) {
				continue
			}
			how = c
		}
		end(i)
		if how == removed {
			at = i + 1
		} else {
			end(i + 1)
		}
	}
	end(len(p.letters))
	return out
}

// splitWords is `\w+|[^\w\s]+`: words, and signs between them.
func splitWords(p piece) []piece {
	kind := func(r rune) int {
		switch {
		case isSpace(r):
			return 0
		case isWord(r):
			return 1
		}
		return 2
	}
	var out []piece
	for at := 0; at < len(p.letters); {
		k, i := kind(p.letters[at].r), at+1
		for i < len(p.letters) && kind(p.letters[i].r) == k {
			i++
		}
		if k > 0 {
			out = append(out, piece{p.letters[at:i:i], -1, p.first && at == 0})
		}
		at = i
	}
	return out
}

func punctuationSplitter(raw json.RawMessage) (splitter, error) {
	s := struct {
		Type     string
		Behavior behavior
	}{Behavior: isolated}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	return func(p piece) []piece {
		return splitAt(p, matching(p.letters, isPunctuation), s.Behavior)
	}, nil
}

func digitSplitter(raw json.RawMessage) (splitter, error) {
	var s struct {
		Type              string
		Individual_digits bool
	}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	how := contiguous
	if s.Individual_digits {
		how = isolated
	}
	return func(p piece) []piece {
		return splitAt(p, matching(p.letters, unicode.IsNumber), how)
	}, nil
}

// matching returns the segments of ls in which each letter that is accepts is a delimiter.
func matching(ls []letter, is func(rune) bool) []segment {
	var found [][2]int
	for i, l := range ls {
		if is(l.r) {
			found = append(found, [2]int{i, i + 1})
		}
	}
	return segments(found, len(ls), false)
}

func patternSplitter(raw json.RawMessage) (splitter, error) {
	var s struct {
		Type     string
		Pattern  pattern
		Behavior behavior
		Invert   bool
	}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	if err := s.Pattern.compile(); err != nil {
		return nil, err
	}
	return func(p piece) []piece {
		found := s.Pattern.find(p.letters)
		return splitAt(p, segments(found, len(p.letters), s.Invert), s.Behavior)
	}, nil
}

// metaSplitter is SentencePiece's form of words: each begins with a sign that stands for the blank.
func metaSplitter(raw json.RawMessage) (splitter, error) {
	s := struct {
		Type, Replacement, Str_rep, Prepend_scheme string
		Add_prefix_space                           *bool
		Split                                      *bool
	}{Prepend_scheme: ""}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	sign, n := utf8.DecodeRuneInString(s.Replacement)
	if n == 0 || n != len(s.Replacement) {
		return nil, fmt.Errorf("replacement %q is not one character", s.Replacement)
	}
	if s.Prepend_scheme == "" {
		s.Prepend_scheme = "always"
		if s.Add_prefix_space != nil && !*s.Add_prefix_space {
			s.Prepend_scheme = "never"
		}
	}
	if !slices.Contains([]string{"always", "first", "never"}, s.Prepend_scheme) {
		return nil, fmt.Errorf("prepend_scheme %q is none of always, first, never",
			s.Prepend_scheme)
	}
	return func(p piece) []piece {
		if len(p.letters) == 0 {
			return nil
		}
		ls := slices.Clone(p.letters)
		for i, l := range ls {
			if l.r == ' ' {
				ls[i].r = sign
			}
		}
		if ls[0].r != sign && (s.Prepend_scheme == "always" ||
			s.Prepend_scheme == "first" && p.first) {
			ls = append([]letter{{sign, ls[0].from, ls[0].to}}, ls...)
		}
		p.letters = ls
		if s.Split != nil && !*s.Split {
			return []piece{p}
		}
		return splitAt(p, matching(ls, func(r rune) bool { return r == sign }), mergedWithNext)
	}, nil
}
