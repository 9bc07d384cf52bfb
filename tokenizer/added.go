package tokenizer

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode"
)

// addedToken is an entry of the part "added_tokens" of a file.
type addedToken struct {
	ID          int
	Content     string
	Single_word bool
	Lstrip      bool
	Rstrip      bool
	Normalized  bool
	Special     bool
}

// addedTokens finds the tokens that texts hold literally, the longest at each place.
type addedTokens struct {
	list []addedToken
	raw  *trie // looked for in the text as it is
	norm *trie // looked for in the normalized text
}

// A trie has the numbers of added tokens by their letters.
type trie struct {
	next map[rune]*trie
	at   int // number of the token that ends here, -1 for none
}

func newTrie() *trie { return &trie{map[rune]*trie{}, -1} }

func (t *trie) add(ls []letter, number int) {
	for _, l := range ls {
		if t.next[l.r] == nil {
			t.next[l.r] = newTrie()
		}
		t = t.next[l.r]
	}
	if t.at < 0 {
		t.at = number
	}
}

// longest returns the longest token at the begin of ls and its number of letters.
func (t *trie) longest(ls []letter) (number, n int) {
	number = -1
	for i, l := range ls {
		if t = t.next[l.r]; t == nil {
			break
		}
		if t.at >= 0 {
			number, n = t.at, i+1
		}
	}
	return number, n
}

func addedOf(raw []json.RawMessage, n normalizer) (*addedTokens, error) {
	a := &addedTokens{raw: newTrie(), norm: newTrie()}
	for i, r := range raw {
		t := addedToken{ID: -1}
		if err := strict(r, &t); err != nil {
			return nil, fmt.Errorf("added_tokens[%d]: %w", i, err)
		}
		if t.ID < 0 || t.ID > math.MaxInt32 {
			return nil, fmt.Errorf("added_tokens[%d] has id %d", i, t.ID)
		}
		a.list = append(a.list, t)
		ls := lettersOf(t.Content)
		if !t.Normalized {
			if len(ls) > 0 {
				a.raw.add(ls, i)
			}
			continue
		}
		if n != nil {
			ls = n(ls)
		}
		if len(ls) > 0 {
			a.norm.add(ls, i)
		}
	}
	return a, nil
}

// split cuts the tokens of t out of p.
func (a *addedTokens) split(t *trie, p piece) []piece {
	if len(t.next) == 0 {
		return []piece{p}
	}
	var out []piece
	ls, at := p.letters, 0
	text := func(end int) {
		if end > at {
			out = append(out, piece{ls[at:end:end], -1, p.first && at == 0})
		}
	}
	for i := 0; i < len(ls); {
		number, n := t.longest(ls[i:])
		if number < 0 {
			i++
			continue
		}
		one, from, to := a.list[number], i, i+n
		if one.Single_word && (from > 0 && isWord(ls[from-1].r) ||
			to < len(ls) && isWord(ls[to].r)) {
			i = to
			continue
		}
		for one.Lstrip && from > at && isSpace(ls[from-1].r) {
			from--
		}
		for one.Rstrip && to < len(ls) && isSpace(ls[to].r) {
			to++
		}
		text(from)
		out = append(out, piece{ls[from:to:to], one.ID, false})
		at, i = to, to
	}
	text(len(ls))
	return out
}

// isWord reports whether r is a letter of words, the class \w.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Pc, unicode.Nl,
		unicode.Other_Alphabetic) || r == 0x200c || r == 0x200d
}
