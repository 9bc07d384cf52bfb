package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A template says which tokens stand around the texts.
type template struct {
	single, pair []part // nil: the texts alone
	trim         bool   // offsets do not count blanks at their ends
	prefix       bool   // texts were given a blank as their first letter
}

// A part of a template is a text or tokens.
type part struct {
	text   int // 0 or 1: the text; -1: tokens
	kind   int // the type of the tokens
	ids    []int
	tokens []string
}

// parts returns the parts for one or two texts.
func (t *template) parts(pair bool) []part {
	switch {
	case pair && t.pair != nil:
		return t.pair
	case pair:
		return []part{{text: 0}, {text: 1, kind: 1}}
	case t.single != nil:
		return t.single
	}
	return []part{{text: 0}}
}

// addedBy returns the number of tokens that parts add to the texts.
func addedBy(parts []part) int {
	n := 0
	for _, p := range parts {
		n += len(p.ids)
	}
	return n
}

// templateOf reads the part "post_processor" of a file; null gives the empty template.
func templateOf(raw json.RawMessage) (template, error) {
	kind, err := kindOf(raw)
	if err != nil || kind == "" {
		return template{}, err
	}
	switch kind {
	case "TemplateProcessing":
		return namedTemplate(raw)
	case "BertProcessing":
		var s struct {
			Type     string
			Sep, Cls tokenID
		}
		err := strict(raw, &s)
		return template{
			single: []part{s.Cls.part(0), {}, s.Sep.part(0)},
			pair:   []part{s.Cls.part(0), {}, s.Sep.part(0), {text: 1, kind: 1}, s.Sep.part(1)},
		}, err
	case "RobertaProcessing":
		s := struct {
			Type             string
			Sep, Cls         tokenID
			Trim_offsets     bool
			Add_prefix_space bool
		}{Trim_offsets: true, Add_prefix_space: true}
		err := strict(raw, &s)
		sep := s.Sep.part(0)
		return template{
			single: []part{s.Cls.part(0), {}, sep},
			pair:   []part{s.Cls.part(0), {}, sep, sep, {text: 1}, sep},
			trim:   s.Trim_offsets,
			prefix: s.Add_prefix_space,
		}, err
	case "ByteLevel":
		s := struct {
			Type             string
			Add_prefix_space bool
			Trim_offsets     bool
			Use_regex        bool
		}{Trim_offsets: true, Add_prefix_space: true}
		err := strict(raw, &s)
		return template{trim: s.Trim_offsets, prefix: s.Add_prefix_space}, err
	case "Sequence":
		return templatesOf(raw)
	}
	return template{}, fmt.Errorf("post-processor %q is not supported", kind)
}

func templatesOf(raw json.RawMessage) (template, error) {
	var s struct {
		Type       string
		Processors []json.RawMessage
	}
	if err := strict(raw, &s); err != nil {
		return template{}, err
	}
	var out template
	for i, r := range s.Processors {
		t, err := templateOf(r)
		if err != nil {
			return out, fmt.Errorf("processors[%d]: %w", i, err)
		}
		if t.single != nil {
			if out.single != nil {
				return out, errors.New("two processors add tokens, which is not supported")
			}
			out.single, out.pair = t.single, t.pair
		}
		if t.trim {
			out.trim, out.prefix = true, t.prefix
		}
	}
	return out, nil
}

// A tokenID is a pair ["[SEP]", 102] of a file.
type tokenID struct {
	token string
	id    int
}

func (t *tokenID) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	if len(list) != 2 {
		return fmt.Errorf("%d entries, want a token and its id", len(list))
	}
	if err := json.Unmarshal(list[0], &t.token); err != nil {
		return err
	}
	return json.Unmarshal(list[1], &t.id)
}

func (t tokenID) part(kind int) part { return part{-1, kind, []int{t.id}, []string{t.token}} }

// A namedPart is a text or a special token of a template.
type namedPart struct {
	SpecialToken, Sequence *struct {
		ID      string
		Type_id int
	}
}

// namedTokens are the special tokens of a template by their names.
type namedTokens map[string]struct {
	ID     string
	IDs    []int
	Tokens []string
}

// namedTemplate reads a template that names its special tokens.
func namedTemplate(raw json.RawMessage) (template, error) {
	var s struct {
		Type           string
		Single, Pair   []namedPart
		Special_tokens namedTokens
	}
	if err := strict(raw, &s); err != nil {
		return template{}, err
	}
	single, err := s.Special_tokens.parts(s.Single, 1)
	if err != nil {
		return template{}, fmt.Errorf("single: %w", err)
	}
	if len(s.Pair) == 0 {
		return template{single: single}, nil
	}
	pair, err := s.Special_tokens.parts(s.Pair, 2)
	if err != nil {
		return template{}, fmt.Errorf("pair: %w", err)
	}
	return template{single: single, pair: pair}, nil
}

// parts returns the parts of a template for one or two texts.
func (t namedTokens) parts(items []namedPart, texts int) ([]part, error) {
	out := []part{}
	var seen [2]bool
	for _, it := range items {
		switch {
		case (it.Sequence == nil) == (it.SpecialToken == nil):
			return nil, errors.New("a part is neither a sequence nor a special token")
		case it.Sequence != nil:
			text, ok := map[string]int{"A": 0, "B": 1}[it.Sequence.ID]
			if !ok || text >= texts {
				return nil, fmt.Errorf("there is no sequence %q", it.Sequence.ID)
			}
			seen[text] = true
			out = append(out, part{text: text, kind: it.Sequence.Type_id})
		default:
			one, ok := t[it.SpecialToken.ID]
			if !ok || len(one.IDs) != len(one.Tokens) {
				return nil, fmt.Errorf("special token %q has no ids and tokens", it.SpecialToken.ID)
			}
			out = append(out, part{-1, it.SpecialToken.Type_id, one.IDs, one.Tokens})
		}
	}
	if !seen[0] || texts == 2 && !seen[1] {
		return nil, errors.New("a sequence lacks")
	}
	return out, nil
}
