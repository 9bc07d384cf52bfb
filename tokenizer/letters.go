package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// A letter is one code point of a text on its way to the model, and the bytes [from, to) of the
// input that it comes from. Letters that a rule puts
// between others come from the bytes of a neighbour.
type letter struct {
	r        rune
	from, to int
}

// lettersOf returns the code points of text. A byte that is no UTF-8 becomes U+FFFD.
func lettersOf(text string) []letter {
	ls := make([]letter, 0, len(text))
	for i, r := range text {
		n := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, n = utf8.DecodeRuneInString(text[i:])
		}
		ls = append(ls, letter{r, i, i + n})
	}
	return ls
}

// before returns the letters of s, which a rule puts before l: they come from the bytes of l.
func before(s string, l letter) []letter {
	ls := make([]letter, 0, len(s))
	for _, r := range s {
		ls = append(ls, letter{r, l.from, l.to})
	}
	return ls
}

// appendText appends the code points of ls in UTF-8 to b.
func appendText(b []byte, ls []letter) []byte {
	for _, l := range ls {
		b = utf8.AppendRune(b, l.r)
	}
	return b
}

// textOf returns the code points of ls as a string.
func textOf(ls []letter) string { return string(appendText(nil, ls)) }

// filter removes the letters that keep refuses. It writes into ls.
func filter(ls []letter, keep func(rune) bool) []letter {
	out := ls[:0]
	for _, l := range ls {
		if keep(l.r) {
			out = append(out, l)
		}
	}
	return out
}

// A piece is a part of a text: letters, or an added token that was found in it.
type piece struct {
	letters []letter
	id      int  // of the added token; -1 for letters
	first   bool // the piece begins the text
}

// inside reports whether the piece has letters that later rules split.
func (p piece) inside() bool { return p.id < 0 }

func isSpace(r rune) bool { return unicode.Is(unicode.White_Space, r) }

// isPunctuation is the definition of BERT: punctuation of Unicode and all symbols of ASCII.
func isPunctuation(r rune) bool {
	if r < 0x80 {
		return r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' ||
			r >= '{' && r <= '~'
	}
	return unicode.IsPunct(r)
}

// isControl is the definition of BERT: the categories Cc, Cf, Co and Cn but for tab and line ends.
func isControl(r rune) bool {
	switch r {
	case '\t', '\n', '\r':
		return false
	}
	if r < 0x80 {
		return r < ' ' || r == 0x7f
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}

// isIdeograph is the definition of BERT: the blocks of Chinese characters.
func isIdeograph(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0x3400 && r <= 0x4dbf ||
		r >= 0x20000 && r <= 0x2a6df || r >= 0x2a700 && r <= 0x2ceaf ||
		r >= 0xf900 && r <= 0xfaff || r >= 0x2f800 && r <= 0x2fa1f
}
