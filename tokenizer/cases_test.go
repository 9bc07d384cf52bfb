package tokenizer_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gomx/tokenizer"
)

var (
	python = flag.String("python", "", "Python interpreter that can import tokenizers")
	files  = flag.String("files", "", "tokenizer.json files for TestPeer, separated by commas")
	number = flag.Int("texts", 300, "random texts of TestPeer")
	seed   = flag.Int("seed", 1, "seed of the random texts of TestPeer")
)

// result is an encoding by the Python package.
type result struct {
	IDs, Types, Mask, Special []int
	Tokens                    []string
	Offsets                   [][2]int
	Decoded, Whole            string
}

type testCase struct {
	Name, Path string
	File       json.RawMessage
	Texts      []struct {
		Text, Second     string
		One, Plain, Pair *result
	}
}

// TestCases compares encodings with those of the Python package tokenizers 0.23.3;
// `python3 testdata/cases.py 1 8 | gzip -9n > testdata/cases.json.gz` makes the file.
func TestCases(t *testing.T) {
	f, err := os.Open("testdata/cases.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, r)
}

// TestPeer makes new texts and compares with the Python package, for files of models too:
// go test ./tokenizer -run TestPeer -v -python PYTHON -files tokenizer.json.
func TestPeer(t *testing.T) {
	if *python == "" {
		t.Skip("wants -python PYTHON, an interpreter that can import tokenizers")
	}
	args := []string{"testdata/cases.py", fmt.Sprint(*seed), fmt.Sprint(*number)}
	lists := [][]string{args}
	if *files != "" {
		lists = append(lists, append(slices.Clone(args), strings.Split(*files, ",")...))
	}
	for _, args := range lists {
		var out, errs bytes.Buffer
		cmd := exec.Command(*python, args...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("seed %d: %v: %s", *seed, err, errs.String())
		}
		compare(t, &out)
	}
}

func compare(t *testing.T, r io.Reader) {
	t.Helper()
	var cases []testCase
	if err := json.NewDecoder(r).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if c.Path != "" {
				var err error
				if c.File, err = os.ReadFile(c.Path); err != nil {
					t.Fatal(err)
				}
			}
			tok, err := tokenizer.Parse(c.File)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(c.Name, "cut") {
				tok = with(t, tok, tokenizer.MaxLength(0), tokenizer.PadTo(0))
			}
			plain := with(t, tok, tokenizer.NoSpecial())
			n, bad := 0, 0
			check := func(text string, got *tokenizer.Encoding, want *result) {
				if want == nil {
					return
				}
				n++
				if err := differ(tok, got, want); err != nil {
					if bad++; bad <= 5 {
						t.Errorf("seed %d: %q: %v", *seed, text, err)
					}
				}
			}
			for _, x := range c.Texts {
				check(x.Text, tok.Encode(x.Text), x.One)
				check(x.Text, plain.Encode(x.Text), x.Plain)
				check(x.Text+" + "+x.Second, tok.EncodePair(x.Text, x.Second), x.Pair)
			}
			t.Logf("%d encodings, %d differ", n, bad)
		})
	}
}

func with(t *testing.T, tok *tokenizer.Tokenizer, opts ...tokenizer.Option) *tokenizer.Tokenizer {
	t.Helper()
	out, err := tok.With(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// differ returns the first difference between an encoding and the one of the Python package.
func differ(tok *tokenizer.Tokenizer, got *tokenizer.Encoding, want *result) error {
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"tokens", got.Tokens, want.Tokens}, {"ids", got.IDs, want.IDs},
		{"types", got.Types, want.Types}, {"mask", got.Mask, want.Mask},
		{"special", got.Special, want.Special}, {"offsets", got.Offsets, want.Offsets},
	} {
		if reflect.ValueOf(f.got).Len() == 0 && reflect.ValueOf(f.want).Len() == 0 {
			continue
		}
		if !reflect.DeepEqual(f.got, f.want) {
			return fmt.Errorf("%s\n got %q\nwant %q", f.name, fmt.Sprint(f.got), fmt.Sprint(f.want))
		}
	}
	if s := tok.Decode(got.IDs, false); s != want.Decoded {
		return fmt.Errorf("decoded\n got %q\nwant %q", s, want.Decoded)
	}
	if s := tok.Decode(got.IDs, true); s != want.Whole {
		return fmt.Errorf("decoded with special tokens\n got %q\nwant %q", s, want.Whole)
	}
	return nil
}
