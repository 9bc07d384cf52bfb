package tokenizer_test

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gomx/internal/hostile"
	"gomx/tokenizer"
)

// seeds returns small files of every kind.
func seeds(t testing.TB) [][]byte {
	t.Helper()
	f, err := os.Open("testdata/cases.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ File json.RawMessage }
	if err := json.NewDecoder(r).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for _, c := range cases {
		out = append(out, c.File)
	}
	return out
}

// use encodes and decodes a text and checks the result against the rules that hold for every file.
func use(t testing.TB, tok *tokenizer.Tokenizer, text string) {
	t.Helper()
	plain, err := tok.With(tokenizer.MaxLength(0), tokenizer.PadTo(0))
	if err != nil {
		return
	}
	for _, e := range []*tokenizer.Encoding{plain.Encode(text), plain.EncodePair(text, text)} {
		n := e.Len()
		if len(e.Tokens) != n || len(e.Mask) != n || len(e.Types) != n || len(e.Special) != n ||
			len(e.Offsets) != n {
			t.Errorf("%q: lists of different lengths: %+v", text, e)
		}
		for _, o := range e.Offsets {
			if o[0] < 0 || o[0] > o[1] || o[1] > len(text) {
				t.Errorf("%q: offsets %v of %d bytes", text, o, len(text))
			}
		}
		if s := plain.Decode(e.IDs, false); !utf8.ValidString(s) {
			t.Errorf("%q: decoded as %q", text, s)
		}
	}
}

func TestHostile(t *testing.T) {
	decode := func(b []byte) error {
		tok, err := tokenizer.Parse(b)
		if err == nil {
			use(t, tok, "Hello <s> wor\u0301ld\xff 12 [MASK]")
		}
		return err
	}
	all := seeds(t)
	hostile.Kind{Name: "tokenizer.json", Seeds: all[:1], Decode: decode}.Run(t)
	hostile.Kind{Name: "tokenizer.json text", Seeds: all, Decode: decode, Text: true}.Run(t)
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s, "Hello wor\u0301ld 12")
	}
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		if tok, err := tokenizer.Parse(file); err == nil {
			use(t, tok, text)
		}
	})
}

func FuzzEncode(f *testing.F) {
	var toks []*tokenizer.Tokenizer
	for _, s := range seeds(f) {
		tok, err := tokenizer.Parse(s)
		if err != nil {
			f.Fatal(err)
		}
		toks = append(toks, tok)
	}
	f.Add("Hello, world! \u0301\xff日本 [MASK]<extra>")
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range toks {
			use(t, tok, text)
		}
	})
}

// TestLongWord encodes a word of 131,000 letters, for which merges of quadratic cost take minutes.
func TestLongWord(t *testing.T) {
	text := strings.Repeat("the", 1<<17/3)
	for i, s := range seeds(t) {
		tok, err := tokenizer.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if n := tok.Encode(text).Len(); n == 0 {
			t.Errorf("case %d: no tokens", i)
		}
		if d := time.Since(begin); d > 20*time.Second {
			t.Errorf("case %d took %v", i, d)
		}
	}
}
