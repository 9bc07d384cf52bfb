package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// A token is one result of a model: an id and the bytes [from, to) of the input.
type token struct {
	id, from, to int
	text         string // of an added token, with the white space that it takes; else ""
}

// A model makes tokens of the letters of one piece.
type model interface {
	tokens(out []token, ls []letter) []token
}

// modelOf reads the part "model" of a file and its vocabulary.
func modelOf(raw json.RawMessage) (model, map[string]int, error) {
	var peek struct {
		Type                     string
		Merges                   json.RawMessage
		Max_input_chars_per_word json.RawMessage
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil, errors.New("there is none")
	}
	if err := json.Unmarshal(raw, &peek); err != nil {
		return nil, nil, err
	}
	if peek.Type == "" { // files of the first versions
		switch {
		case len(peek.Merges) > 0:
			peek.Type = "BPE"
		case len(peek.Max_input_chars_per_word) > 0:
			peek.Type = "WordPiece"
		}
	}
	switch peek.Type {
	case "WordPiece":
		return wordPieceOf(raw)
	case "BPE":
		return bpeOf(raw)
	case "WordLevel":
		return wordLevelOf(raw)
	}
	return nil, nil, fmt.Errorf("model %q is not supported", peek.Type)
}

// A vocabulary has the ids of tokens, from 0 to 2^31 - 1.
type vocabulary map[string]int

func (v *vocabulary) UnmarshalJSON(raw []byte) error {
	var m map[string]int
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	for s, id := range m {
		if id < 0 || id > math.MaxInt32 {
			return fmt.Errorf("token %q has id %d", s, id)
		}
	}
	*v = m
	return nil
}

// need returns the id of a token that the file names as role.
func (v vocabulary) need(role, s string) (int, error) {
	id, ok := v[s]
	if !ok {
		return 0, fmt.Errorf("%s %q is not in the vocabulary", role, s)
	}
	return id, nil
}

// wordPiece is the model of BERT: the longest tokens first, from left to right.
type wordPiece struct {
	vocab   vocabulary
	unk     int
	prefix  string
	most    int
	longest int // token, in bytes
}

func wordPieceOf(raw json.RawMessage) (model, map[string]int, error) {
	s := struct {
		Type                      string
		Unk_token                 string
		Continuing_subword_prefix string
		Max_input_chars_per_word  int
		Vocab                     vocabulary
	}{Unk_token: "[UNK]", Continuing_subword_prefix: "##", Max_input_chars_per_word: 100}
	if err := strict(raw, &s); err != nil {
		return nil, nil, err
	}
	unk, err := s.Vocab.need("unk_token", s.Unk_token)
	if err != nil {
		return nil, nil, err
	}
	m := &wordPiece{vocab: s.Vocab, unk: unk, prefix: s.Continuing_subword_prefix,
		most: s.Max_input_chars_per_word}
	for t := range s.Vocab {
		m.longest = max(m.longest, len(t))
	}
	return m, s.Vocab, nil
}

func (m *wordPiece) tokens(out []token, ls []letter) []token {
	if len(ls) == 0 {
		return out
	}
	unknown := token{id: m.unk, from: ls[0].from, to: ls[len(ls)-1].to}
	if len(ls) > m.most {
		return append(out, unknown)
	}
	begin := len(out)
	var space [128]byte
	for at := 0; at < len(ls); {
		b := space[:0]
		if at > 0 {
			b = append(b, m.prefix...)
		}
		id, end := -1, 0
		for i := at; i < len(ls) && len(b) <= m.longest; i++ {
			b = appendText(b, ls[i:i+1])
			if found, ok := m.vocab[string(b)]; ok {
				id, end = found, i+1
			}
		}
		if id < 0 {
			return append(out[:begin], unknown)
		}
		out = append(out, token{id: id, from: ls[at].from, to: ls[end-1].to})
		at = end
	}
	return out
}

// wordLevel is a model whose tokens are whole pieces.
type wordLevel struct {
	vocab vocabulary
	unk   int
}

func wordLevelOf(raw json.RawMessage) (model, map[string]int, error) {
	var s struct {
		Type, Unk_token string
		Vocab           vocabulary
	}
	if err := strict(raw, &s); err != nil {
		return nil, nil, err
	}
	unk, err := s.Vocab.need("unk_token", s.Unk_token)
	return &wordLevel{s.Vocab, unk}, s.Vocab, err
}

func (m *wordLevel) tokens(out []token, ls []letter) []token {
	if len(ls) == 0 {
		return out
	}
	id, ok := m.vocab[textOf(ls)]
	if !ok {
		id = m.unk
	}
	return append(out, token{id: id, from: ls[0].from, to: ls[len(ls)-1].to})
}
