package tokenizer

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"strings"
)

// bpe is the model of byte pair encodings (Sennrich, Haddow, Birch, 2016): pairs of neighbours
// become one token in the order of the list of merges.
type bpe struct {
	vocab          vocabulary
	merges         map[[2]int]merge
	unk            int // -1: unknown letters are left out
	fuse           bool
	bytes          *[256]int // ids of <0x00> to <0xFF>, -1 where one lacks; nil: not used
	whole          bool      // a piece that is in the vocabulary is not merged
	prefix, suffix string
}

// A merge is the place of a pair in the list and the token that it becomes.
type merge struct{ rank, id int }

// A mergePair is a line of the list of merges: "a b" or ["a", "b"].
type mergePair [2]string

func (p *mergePair) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		var list []string
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		if len(list) != 2 {
			return fmt.Errorf("a merge has %d parts, want 2", len(list))
		}
		*p = mergePair(list)
		return nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	a, b, ok := strings.Cut(s, " ")
	if !ok || strings.Contains(b, " ") {
		return fmt.Errorf("merge %q is not two tokens", s)
	}
	*p = mergePair{a, b}
	return nil
}

func bpeOf(raw json.RawMessage) (model, map[string]int, error) {
	var s struct {
		Type                      string
		Dropout                   *float64
		Unk_token                 *string
		Continuing_subword_prefix *string
		End_of_word_suffix        *string
		Fuse_unk                  bool
		Byte_fallback             bool
		Ignore_merges             bool
		Vocab                     vocabulary
		Merges                    []mergePair
	}
	if err := strict(raw, &s); err != nil {
		return nil, nil, err
	}
	if s.Dropout != nil && *s.Dropout != 0 {
		return nil, nil, fmt.Errorf("dropout %g: encodings that change are not supported",
			*s.Dropout)
	}
	m := &bpe{vocab: s.Vocab, unk: -1, fuse: s.Fuse_unk, whole: s.Ignore_merges,
		merges: make(map[[2]int]merge, len(s.Merges))}
	if s.Continuing_subword_prefix != nil {
		m.prefix = *s.Continuing_subword_prefix
	}
	if s.End_of_word_suffix != nil {
		m.suffix = *s.End_of_word_suffix
	}
	if s.Unk_token != nil && *s.Unk_token != "" {
		var err error
		if m.unk, err = s.Vocab.need("unk_token", *s.Unk_token); err != nil {
			return nil, nil, err
		}
	}
	for i, p := range s.Merges {
		if err := m.learn(i, p); err != nil {
			return nil, nil, err
		}
	}
	if s.Byte_fallback {
		m.bytes = new([256]int)
		for b := range m.bytes {
			id, ok := s.Vocab[fmt.Sprintf("<0x%02X>", b)]
			if !ok {
				id = -1
			}
			m.bytes[b] = id
		}
	}
	return m, s.Vocab, nil
}

// learn adds a pair of the list of merges.
func (m *bpe) learn(rank int, p mergePair) error {
	a, err := m.vocab.need("part of a merge", p[0])
	if err != nil {
		return err
	}
	b, err := m.vocab.need("part of a merge", p[1])
	if err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(p[1], m.prefix)
	if !ok {
		return fmt.Errorf("merge %q %q: the second part has no prefix %q", p[0], p[1], m.prefix)
	}
	id, err := m.vocab.need("result of a merge", p[0]+rest)
	if err != nil {
		return err
	}
	if _, twice := m.merges[[2]int{a, b}]; !twice {
		m.merges[[2]int{a, b}] = merge{rank, id}
	}
	return nil
}

func (m *bpe) tokens(out []token, ls []letter) []token {
	if len(ls) == 0 {
		return out
	}
	if m.whole {
		if id, ok := m.vocab[textOf(ls)]; ok {
			return append(out, token{id: id, from: ls[0].from, to: ls[len(ls)-1].to})
		}
	}
	return append(out, m.join(m.letters(ls))...)
}

// letters returns the token of each letter: the least parts that merges begin with.
func (m *bpe) letters(ls []letter) []token {
	out := make([]token, 0, len(ls))
	unknown := false // the last token is an unknown one
	var b []byte
	for i, l := range ls {
		b = b[:0]
		if i > 0 {
			b = append(b, m.prefix...)
		}
		b = appendText(b, ls[i:i+1])
		if i == len(ls)-1 {
			b = append(b, m.suffix...)
		}
		if id, ok := m.vocab[string(b)]; ok {
			out = append(out, token{id: id, from: l.from, to: l.to})
			unknown = false
			continue
		}
		if ids := m.fallback(b); ids != nil {
			for _, id := range ids {
				out = append(out, token{id: id, from: l.from, to: l.to})
			}
			unknown = false
			continue
		}
		switch {
		case m.unk < 0:
		case m.fuse && unknown:
			out[len(out)-1].to = l.to
		default:
			out = append(out, token{id: m.unk, from: l.from, to: l.to})
			unknown = true
		}
	}
	return out
}

// fallback returns the tokens of the bytes b, nil unless the vocabulary has all.
func (m *bpe) fallback(b []byte) []int {
	if m.bytes == nil {
		return nil
	}
	ids := make([]int, len(b))
	for i, c := range b {
		if ids[i] = m.bytes[c]; ids[i] < 0 {
			return nil
		}
	}
	return ids
}

// A candidate is a pair of neighbours that may be merged: the part at a and the one after it.
type candidate struct{ rank, at, id int }

type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return c[i].rank < c[j].rank || c[i].rank == c[j].rank && c[i].at < c[j].at
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	old := *c
	x := old[len(old)-1]
	*c = old[:len(old)-1]
	return x
}

// join merges neighbours, the first pair of the list first and the leftmost of equals, until none
// is in the list. It takes O(n log n) steps.
func (m *bpe) join(ts []token) []token {
	n := len(ts)
	next, prev := make([]int, n), make([]int, n)
	for i := range ts {
		next[i], prev[i] = i+1, i-1
	}
	var queue candidates
	consider := func(i int) {
		if i < 0 || next[i] >= n {
			return
		}
		if x, ok := m.merges[[2]int{ts[i].id, ts[next[i]].id}]; ok {
			queue = append(queue, candidate{x.rank, i, x.id})
		}
	}
	for i := range ts {
		consider(i)
	}
	heap.Init(&queue)
	push := func(i int) {
		old := len(queue)
		if consider(i); len(queue) > old {
			heap.Fix(&queue, old)
		}
	}
	dead := make([]bool, n)
	for len(queue) > 0 {
		c := heap.Pop(&queue).(candidate)
		if dead[c.at] || next[c.at] >= n {
			continue
		}
		j := next[c.at]
		x, ok := m.merges[[2]int{ts[c.at].id, ts[j].id}]
		if !ok || x.id != c.id || x.rank != c.rank {
			continue
		}
		ts[c.at].id, ts[c.at].to = c.id, ts[j].to
		dead[j], next[c.at] = true, next[j]
		if next[j] < n {
			prev[next[j]] = c.at
		}
		push(prev[c.at])
		push(c.at)
	}
	out := ts[:0]
	for i, t := range ts {
		if !dead[i] {
			out = append(out, t)
		}
	}
	return out
}
