package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// A Tokenizer cuts texts into the tokens of a model of language. Its methods may be called
// concurrently.
type Tokenizer struct {
	normal     normalizer
	split      splitter
	model      model
	vocab      map[string]int
	names      map[int]string
	added      *addedTokens
	addedIDs   map[string]int
	special    map[int]bool
	template   template
	decode     decoder
	truncation *truncation
	padding    *padding
}

// Load reads the file tokenizer.json of a model of Hugging Face.
func Load(path string) (*Tokenizer, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Parse reads the contents of a file tokenizer.json. Rules and options that the package lacks are
// errors that name them.
func Parse(b []byte) (*Tokenizer, error) {
	var f struct {
		Version        string
		Truncation     json.RawMessage
		Padding        json.RawMessage
		Added_tokens   []json.RawMessage
		Normalizer     json.RawMessage
		Pre_tokenizer  json.RawMessage
		Post_processor json.RawMessage
		Decoder        json.RawMessage
		Model          json.RawMessage
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	t := new(Tokenizer)
	var err error
	for _, step := range []struct {
		name string
		read func() error
	}{
		{"model", func() error { t.model, t.vocab, err = modelOf(f.Model); return err }},
		{"normalizer", func() error { t.normal, err = normalizerOf(f.Normalizer); return err }},
		{"pre_tokenizer", func() error { t.split, err = splitterOf(f.Pre_tokenizer); return err }},
		{"post_processor",
			func() error { t.template, err = templateOf(f.Post_processor); return err }},
		{"decoder", func() error { t.decode, err = decoderOf(f.Decoder); return err }},
		{"tokens", func() error { t.added, err = addedOf(f.Added_tokens, t.normal); return err }},
		{"truncation", func() error { t.truncation, err = truncationOf(f.Truncation); return err }},
		{"padding", func() error { t.padding, err = paddingOf(f.Padding); return err }},
	} {
		if err := step.read(); err != nil {
			return nil, fmt.Errorf("tokenizer: %s: %w", step.name, err)
		}
	}
	t.index()
	return t, t.check()
}

// index makes the tables from ids to tokens.
func (t *Tokenizer) index() {
	t.names = make(map[int]string, len(t.vocab)+len(t.added.list))
	t.addedIDs, t.special = make(map[string]int), make(map[int]bool)
	for s, id := range t.vocab {
		if old, twice := t.names[id]; !twice || s < old {
			t.names[id] = s
		}
	}
	for _, a := range t.added.list {
		t.addedIDs[a.Content], t.names[a.ID] = a.ID, a.Content
		if a.Special {
			t.special[a.ID] = true
		}
	}
}

// check returns an error where truncation leaves no room for the tokens that the file adds.
func (t *Tokenizer) check() error {
	if t.truncation == nil {
		return nil
	}
	if n := addedBy(t.template.parts(false)); t.truncation.Max_length < n {
		return fmt.Errorf("tokenizer: a length of %d tokens has no room for the %d that the "+
			"file adds", t.truncation.Max_length, n)
	}
	return nil
}

// With returns a tokenizer with other options; t stays as it is.
func (t *Tokenizer) With(opts ...Option) (*Tokenizer, error) {
	c := *t
	for _, o := range opts {
		if err := o(&c); err != nil {
			return nil, fmt.Errorf("tokenizer: %w", err)
		}
	}
	return &c, c.check()
}

// Size returns the number of tokens, added ones included.
func (t *Tokenizer) Size() int {
	n := len(t.vocab)
	for s := range t.addedIDs {
		if _, ok := t.vocab[s]; !ok {
			n++
		}
	}
	return n
}

// ID returns the number of a token and whether there is one.
func (t *Tokenizer) ID(token string) (int, bool) {
	if id, ok := t.addedIDs[token]; ok {
		return id, true
	}
	id, ok := t.vocab[token]
	return id, ok
}

// Token returns the token of a number, "" where there is none.
func (t *Tokenizer) Token(id int) string { return t.names[id] }

// Encode returns the tokens of a text, shortened and padded as the file or the options say.
func (t *Tokenizer) Encode(text string) *Encoding { return t.padded(t.one(text, "", false)) }

// EncodePair returns the tokens of two texts, such as a question and a paragraph.
func (t *Tokenizer) EncodePair(a, b string) *Encoding { return t.padded(t.one(a, b, true)) }

// EncodeBatch returns the tokens of several texts, padded to one length where the file or the
// options say so.
func (t *Tokenizer) EncodeBatch(texts []string) []*Encoding {
	out := make([]*Encoding, len(texts))
	longest := 0
	for i, s := range texts {
		out[i] = t.one(s, "", false)
		longest = max(longest, out[i].Len())
	}
	if t.padding != nil {
		n := t.padding.length(longest)
		for _, e := range out {
			t.padding.pad(e, n)
		}
	}
	return out
}

func (t *Tokenizer) padded(e *Encoding) *Encoding {
	if t.padding != nil {
		t.padding.pad(e, t.padding.length(e.Len()))
	}
	return e
}

// one encodes one or two texts without padding.
func (t *Tokenizer) one(a, b string, pair bool) *Encoding {
	parts := t.template.parts(pair)
	texts := [2]string{a, b}
	ts := [2][]token{t.tokens(a)}
	if pair {
		ts[1] = t.tokens(b)
	}
	if t.truncation != nil {
		room := max(t.truncation.Max_length-addedBy(parts), 0)
		ts[0], ts[1] = t.truncation.cut(ts[0], ts[1], pair, room)
	}
	e := new(Encoding)
	for _, p := range parts {
		if p.text < 0 {
			for i, id := range p.ids {
				e.add(id, p.kind, 1, 1, p.tokens[i], [2]int{})
			}
			continue
		}
		for _, k := range ts[p.text] {
			name, from, to := k.text, k.from, k.to
			if name == "" {
				name = t.names[k.id]
			}
			if t.template.trim {
				from, to = trimmed(texts[p.text], name, from, to, t.template.prefix)
			}
			e.add(k.id, p.kind, 1, 0, name, [2]int{from, to})
		}
	}
	return e
}

// tokens returns the tokens of a text alone.
func (t *Tokenizer) tokens(text string) []token {
	if text == "" {
		return nil
	}
	var out []token
	whole := piece{lettersOf(text), -1, true}
	for _, p := range t.added.split(t.added.raw, whole) {
		if p.inside() && t.normal != nil {
			p.letters = t.normal(p.letters)
		}
		ps := []piece{p}
		if p.inside() {
			ps = t.added.split(t.added.norm, p)
		}
		for _, p := range ps {
			out = t.piece(out, p)
		}
	}
	return out
}

// piece appends the tokens of a piece between added tokens, or of an added token.
func (t *Tokenizer) piece(out []token, p piece) []token {
	if !p.inside() {
		from, to := spanOf(p.letters, 0, len(p.letters))
		return append(out, token{p.id, from, to, textOf(p.letters)})
	}
	if t.split == nil {
		return t.model.tokens(out, p.letters)
	}
	for _, q := range t.split(p) {
		out = t.model.tokens(out, q.letters)
	}
	return out
}

// Decode returns a text for tokens. With special false it leaves out the special tokens. Numbers
// without a token are left out.
func (t *Tokenizer) Decode(ids []int, special bool) string {
	var ts []string
	for _, id := range ids {
		if s, ok := t.names[id]; ok && (special || !t.special[id]) {
			ts = append(ts, s)
		}
	}
	if t.decode == nil {
		return strings.Join(ts, " ")
	}
	return strings.Join(t.decode(ts), "")
}

// kindOf returns the type of a part of a file, "" for a part that is null or lacks.
func kindOf(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var s struct{ Type string }
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", err
	}
	if s.Type == "" {
		return "", errors.New("the type is missing")
	}
	return s.Type, nil
}

// strict decodes raw into v and refuses fields that v lacks, for they would have no effect.
func strict(raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
