package tokenizer

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// byteRunes gives each byte the visible code point by which GPT-2 writes it.
var byteRunes = func() (table [256]rune) {
	next := rune(256)
	for b := range table {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
			table[b] = rune(b)
		default:
			table[b] = next
			next++
		}
	}
	return table
}()

// runeBytes is the inverse of byteRunes: -1 for a code point that stands for no byte.
var runeBytes = func() (table [324]int16) {
	for i := range table {
		table[i] = -1
	}
	for b, r := range byteRunes {
		table[r] = int16(b)
	}
	return table
}()

// gpt2Words is the expression by which GPT-2 cuts texts.
const gpt2Words = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// byteLetters writes the bytes of the letters in UTF-8 as visible code points.
func byteLetters(ls []letter) []letter {
	out := make([]letter, 0, len(ls)+len(ls)/4)
	var b [utf8.UTFMax]byte
	for _, l := range ls {
		for _, c := range b[:utf8.EncodeRune(b[:], l.r)] {
			out = append(out, letter{byteRunes[c], l.from, l.to})
		}
	}
	return out
}

// textOfBytes is the inverse of byteLetters for a token; a token with other code points is kept.
func textOfBytes(token string) []byte {
	out := make([]byte, 0, len(token))
	for _, r := range token {
		if int(r) >= len(runeBytes) || runeBytes[r] < 0 {
			return []byte(token)
		}
		out = append(out, byte(runeBytes[r]))
	}
	return out
}

func byteSplitter(raw json.RawMessage) (splitter, error) {
	s := struct {
		Type             string
		Add_prefix_space bool
		Trim_offsets     bool
		Use_regex        *bool
	}{Add_prefix_space: true}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	words := gpt2Words
	p := pattern{Regex: &words}
	if err := p.compile(); err != nil {
		return nil, err
	}
	return func(one piece) []piece {
		if s.Add_prefix_space && len(one.letters) > 0 && one.letters[0].r != ' ' {
			one.letters = append(before(" ", one.letters[0]), one.letters...)
		}
		ps := []piece{one}
		if s.Use_regex == nil || *s.Use_regex {
			ps = splitAt(one, segments(p.find(one.letters), len(one.letters), false), isolated)
		}
		for i := range ps {
			ps[i].letters = byteLetters(ps[i].letters)
		}
		return ps
	}, nil
}

// trimmed takes blanks at the ends of a token off the bytes [from, to) of text that it comes from.
// With prefix the first blank of a text was put there by the splitter and comes from no byte.
func trimmed(text, token string, from, to int, prefix bool) (int, int) {
	blank := func(r rune) bool { return r == byteRunes[' '] || isSpace(r) }
	n := utf8.RuneCountInString(token)
	leading := n - utf8.RuneCountInString(strings.TrimLeftFunc(token, blank))
	trailing := n - utf8.RuneCountInString(strings.TrimRightFunc(token, blank))
	if leading > 0 && prefix && from == 0 {
		leading--
	}
	for ; leading > 0 && from < to; leading-- {
		_, n := utf8.DecodeRuneInString(text[from:to])
		from += n
	}
	for ; trailing > 0 && from < to; trailing-- {
		_, n := utf8.DecodeLastRuneInString(text[from:to])
		to -= n
	}
	return from, to
}
