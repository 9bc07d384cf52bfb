package tokenizer_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"gomx/tokenizer"
)

const small = `{
  "added_tokens": [{"id": 0, "content": "[PAD]", "special": true}],
  "normalizer": {"type": "BertNormalizer"},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
  "decoder": {"type": "WordPiece"},
  "model": {"type": "WordPiece", "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3,
    "play": 4, "##ing": 5, "!": 6}}
}`

func ExampleParse() {
	t, err := tokenizer.Parse([]byte(small)) // Load reads a file
	if err != nil {
		fmt.Println(err)
		return
	}
	e := t.Encode("Playing!")
	fmt.Println(e.Tokens)
	fmt.Println(e.IDs)
	fmt.Println(e.Offsets)
	fmt.Println(t.Decode(e.IDs[1:4], false))
	// Output:
	// [[CLS] play ##ing ! [SEP]]
	// [2 4 5 6 3]
	// [[0 0] [0 4] [4 7] [7 8] [0 0]]
	// playing!
}

func ExampleTokenizer_EncodeBatch() {
	t, err := tokenizer.Parse([]byte(small))
	if err == nil {
		t, err = t.With(tokenizer.MaxLength(4), tokenizer.PadLongest())
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range t.EncodeBatch([]string{"play", "playing!!"}) {
		fmt.Println(e.IDs, e.Mask)
	}
	// Output:
	// [2 4 3 0] [1 1 1 0]
	// [2 4 5 3] [1 1 1 1]
}

// TestErrors demands messages that name the part and the value.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"JSON", small, "{", "unexpected end"},
		{"model", `"WordPiece", "vocab"`, `"Unigram", "vocab"`, `model: model "Unigram"`},
		{"normalizer", `"BertNormalizer"`, `"Precompiled"`, `normalizer "Precompiled"`},
		{"option", `"BertNormalizer"`, `"BertNormalizer", "tidy": true`, `unknown field "tidy"`},
		{"pre-tokenizer", `"BertPreTokenizer"`, `"UnicodeScripts"`,
			`pre-tokenizer "UnicodeScripts"`},
		{"unknown", `"[UNK]"`, `"[unk]"`, `unk_token "[UNK]" is not in the vocabulary`},
		{"id", `"play": 4`, `"play": -4`, `token "play" has id -4`},
		{"pattern", `"BertPreTokenizer"`,
			`"Split", "pattern": {"Regex": "(?<=a)b"}, "behavior": "Removed"`, "not supported"},
		{"behavior", `"BertPreTokenizer"`,
			`"Split", "pattern": {"String": "b"}, "behavior": "Away"`, `behavior "Away"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tokenizer.Parse([]byte(strings.Replace(small, c.old, c.new, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	tok, err := tokenizer.Parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	_, err = tok.With(tokenizer.MaxLength(1))
	if err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("length 1: error %v, want no room", err)
	}
	if _, err := tok.With(tokenizer.PadTo(-1)); err == nil {
		t.Error("padding to -1 tokens is accepted")
	}
}

// TestConcurrent uses one tokenizer from several goroutines.
func TestConcurrent(t *testing.T) {
	tok, err := tokenizer.Parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint(tok.Encode("playing! playing").IDs)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if got := fmt.Sprint(tok.Encode("playing! playing").IDs); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkEncode(b *testing.B) {
	toks := seeds(b)
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, and others follow it. ", 20)
	for _, i := range []int{0, 3} { // BERT, GPT-2
		tok, err := tokenizer.Parse(toks[i])
		if err != nil {
			b.Fatal(err)
		}
		b.Run([]string{"bert", "", "", "gpt2"}[i], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tok.Encode(text)
			}
		})
	}
}
