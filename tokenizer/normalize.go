package tokenizer

import (
	"encoding/json"
	"fmt"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A normalizer changes the code points of a text. It may write into its argument.
type normalizer func([]letter) []letter

// normalizerOf reads the part "normalizer" of a file; null gives nil.
func normalizerOf(raw json.RawMessage) (normalizer, error) {
	kind, err := kindOf(raw)
	if err != nil || kind == "" {
		return nil, err
	}
	switch kind {
	case "Sequence":
		return normalizersOf(raw)
	case "BertNormalizer":
		return bertNormalizer(raw)
	case "Lowercase":
		return lower, strict(raw, &struct{ Type string }{})
	case "NFC", "NFD", "NFKC", "NFKD":
		f := map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC,
			"NFKD": norm.NFKD}[kind]
		return func(ls []letter) []letter { return normalForm(f, ls) },
			strict(raw, &struct{ Type string }{})
	case "StripAccents":
		return func(ls []letter) []letter {
			return filter(ls, func(r rune) bool { return !unicode.Is(unicode.M, r) })
		}, strict(raw, &struct{ Type string }{})
	case "Strip":
		return stripNormalizer(raw)
	case "Prepend":
		return prependNormalizer(raw)
	case "Replace":
		return replaceNormalizer(raw)
	case "ByteLevel":
		return byteLetters, strict(raw, &struct{ Type string }{})
	}
	return nil, fmt.Errorf("normalizer %q is not supported", kind)
}

func normalizersOf(raw json.RawMessage) (normalizer, error) {
	var s struct {
		Type        string
		Normalizers []json.RawMessage
	}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	list, err := steps("normalizers", s.Normalizers, normalizerOf)
	if err != nil {
		return nil, err
	}
	return func(ls []letter) []letter {
		for _, n := range list {
			ls = n(ls)
		}
		return ls
	}, nil
}

// bertNormalizer is the normalization of BERT's reference code.
func bertNormalizer(raw json.RawMessage) (normalizer, error) {
	s := struct {
		Type                 string
		Clean_text           bool
		Handle_chinese_chars bool
		Strip_accents        *bool
		Lowercase            bool
	}{Clean_text: true, Handle_chinese_chars: true, Lowercase: true}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	accents := s.Lowercase
	if s.Strip_accents != nil {
		accents = *s.Strip_accents
	}
	return func(ls []letter) []letter {
		if s.Clean_text {
			ls = cleanText(ls)
		}
		if s.Handle_chinese_chars {
			ls = spaceIdeographs(ls)
		}
		if accents {
			ls = filter(normalForm(norm.NFD, ls), func(r rune) bool {
				return r < 0x300 || !unicode.Is(unicode.Mn, r)
			})
		}
		if s.Lowercase {
			ls = lower(ls)
		}
		return ls
	}, nil
}

// cleanText removes control characters and makes every white space a blank.
func cleanText(ls []letter) []letter {
	ls = filter(ls, func(r rune) bool { return r != 0 && r != 0xfffd && !isControl(r) })
	for i, l := range ls {
		if isSpace(l.r) {
			ls[i].r = ' '
		}
	}
	return ls
}

// spaceIdeographs puts blanks on both sides of Chinese characters, so that each is a word.
func spaceIdeographs(ls []letter) []letter {
	n := 0
	for _, l := range ls {
		if isIdeograph(l.r) {
			n++
		}
	}
	if n == 0 {
		return ls
	}
	out := make([]letter, 0, len(ls)+2*n)
	for _, l := range ls {
		if isIdeograph(l.r) {
			out = append(out, letter{' ', l.from, l.to}, l, letter{' ', l.from, l.to})
			continue
		}
		out = append(out, l)
	}
	return out
}

// lower makes letters small, one by one: the end of a word has no influence on Greek's sigma.
func lower(ls []letter) []letter {
	out, long := ls, false
	for i, l := range ls {
		if l.r == 'İ' {
			if !long {
				out, long = append(make([]letter, 0, len(ls)+8), ls[:i]...), true
			}
			out = append(out, letter{'i', l.from, l.to}, letter{0x307, l.from, l.to})
			continue
		}
		l.r = unicode.ToLower(l.r)
		if long {
			out = append(out, l)
		} else {
			out[i] = l
		}
	}
	return out
}

// normalForm brings ls to a normal form of Unicode. A letter that is made of several ones comes
// from the bytes of the first.
func normalForm(f norm.Form, ls []letter) []letter {
	plain := true
	for _, l := range ls {
		plain = plain && l.r < 0x80
	}
	if plain {
		return ls
	}
	if f == norm.NFD || f == norm.NFKD {
		return decompose(f, ls)
	}
	var out []letter
	var b []byte
	for len(ls) > 0 {
		n := 1
		for n < len(ls) && !f.PropertiesString(string(ls[n].r)).BoundaryBefore() {
			n++
		}
		b = f.Append(b[:0], []byte(textOf(ls[:n]))...)
		composed := lettersOf(string(b))
		for i, l := range composed {
			from := ls[0]
			if i > 0 {
				from = ls[min(max(n-len(composed), 0)+i, n-1)]
			}
			out = append(out, letter{l.r, from.from, from.to})
		}
		ls = ls[n:]
	}
	return out
}

// decompose replaces each letter by its decomposition and puts combining marks in order; the bytes
// that they come from stay as they are.
func decompose(f norm.Form, ls []letter) []letter {
	out := make([]letter, 0, len(ls)+len(ls)/4)
	for _, l := range ls {
		if l.r < 0x80 {
			out = append(out, l)
			continue
		}
		for _, r := range f.String(string(l.r)) {
			class := f.PropertiesString(string(r)).CCC()
			out = append(out, letter{r, l.from, l.to})
			if class == 0 {
				continue
			}
			for i := len(out) - 1; i > 0; i-- {
				if f.PropertiesString(string(out[i-1].r)).CCC() <= class {
					break
				}
				out[i-1].r, out[i].r = out[i].r, out[i-1].r
			}
		}
	}
	return out
}

func stripNormalizer(raw json.RawMessage) (normalizer, error) {
	var s struct {
		Type                    string
		Strip_left, Strip_right bool
	}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	return func(ls []letter) []letter {
		for s.Strip_left && len(ls) > 0 && isSpace(ls[0].r) {
			ls = ls[1:]
		}
		for s.Strip_right && len(ls) > 0 && isSpace(ls[len(ls)-1].r) {
			ls = ls[:len(ls)-1]
		}
		return ls
	}, nil
}

func prependNormalizer(raw json.RawMessage) (normalizer, error) {
	var s struct{ Type, Prepend string }
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	return func(ls []letter) []letter {
		if len(ls) == 0 {
			return ls
		}
		return append(before(s.Prepend, ls[0]), ls...)
	}, nil
}

func replaceNormalizer(raw json.RawMessage) (normalizer, error) {
	var s struct {
		Type    string
		Pattern pattern
		Content string
	}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	if err := s.Pattern.compile(); err != nil {
		return nil, err
	}
	return func(ls []letter) []letter {
		found := s.Pattern.find(ls)
		if len(found) == 0 {
			return ls
		}
		var out []letter
		at := 0
		for _, m := range found {
			out = append(out, ls[at:m[0]]...)
			from, to := spanOf(ls, m[0], m[1])
			for _, r := range s.Content {
				out = append(out, letter{r, from, to})
			}
			at = m[1]
		}
		return append(out, ls[at:]...)
	}, nil
}

// spanOf returns the bytes of the input that the letters [i, j) come from.
func spanOf(ls []letter, i, j int) (from, to int) {
	switch {
	case i < j:
		return ls[i].from, ls[j-1].to
	case i < len(ls):
		return ls[i].from, ls[i].from
	case i > 0:
		return ls[i-1].to, ls[i-1].to
	}
	return 0, 0
}
