package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A decoder changes tokens into the parts of a text.
type decoder func([]string) []string

// decoderOf reads the part "decoder" of a file; null gives nil.
func decoderOf(raw json.RawMessage) (decoder, error) {
	kind, err := kindOf(raw)
	if err != nil || kind == "" {
		return nil, err
	}
	bare := func() error { return strict(raw, &struct{ Type string }{}) }
	switch kind {
	case "Sequence":
		return decodersOf(raw)
	case "WordPiece":
		return wordPieceDecoder(raw)
	case "ByteLevel":
		return func(ts []string) []string {
				var b []byte
				for _, t := range ts {
					b = append(b, textOfBytes(t)...)
				}
				return []string{strings.ToValidUTF8(string(b), "\ufffd")}
			}, strict(raw, &struct {
				Type                                      string
				Add_prefix_space, Trim_offsets, Use_regex bool
			}{})
	case "BPEDecoder":
		var s struct{ Type, Suffix string }
		err := strict(raw, &s)
		return each(func(i, n int, t string) string {
			blank := " "
			if i == n-1 {
				blank = ""
			}
			return strings.ReplaceAll(t, s.Suffix, blank)
		}), err
	case "Metaspace":
		return metaDecoder(raw)
	case "Fuse":
		return func(ts []string) []string { return []string{strings.Join(ts, "")} }, bare()
	case "ByteFallback":
		return bytesOfTokens, bare()
	case "Strip":
		return stripDecoder(raw)
	case "Replace":
		n, err := replaceNormalizer(raw)
		return each(func(_, _ int, t string) string { return textOf(n(lettersOf(t))) }), err
	}
	return nil, fmt.Errorf("decoder %q is not supported", kind)
}

// each makes a decoder of a function of one token, its place and the number of tokens.
func each(f func(i, n int, t string) string) decoder {
	return func(ts []string) []string {
		out := make([]string, len(ts))
		for i, t := range ts {
			out[i] = f(i, len(ts), t)
		}
		return out
	}
}

func decodersOf(raw json.RawMessage) (decoder, error) {
	var s struct {
		Type     string
		Decoders []json.RawMessage
	}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	list, err := steps("decoders", s.Decoders, decoderOf)
	if err != nil {
		return nil, err
	}
	return func(ts []string) []string {
		for _, d := range list {
			ts = d(ts)
		}
		return ts
	}, nil
}

// cleanUp takes out the blanks that BERT's words leave before signs and short forms.
var cleanUp = strings.NewReplacer(" .", ".", " ?", "?", " !", "!", " ,", ",", " ' ", "'", " n't",
	"n't", " 'm", "'m", " do not", " don't", " 's", "'s", " 've", "'ve", " 're", "'re")

func wordPieceDecoder(raw json.RawMessage) (decoder, error) {
	s := struct {
		Type, Prefix string
		Cleanup      bool
	}{Prefix: "##", Cleanup: true}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	return each(func(i, _ int, t string) string {
		if i > 0 {
			if rest, ok := strings.CutPrefix(t, s.Prefix); ok {
				t = rest
			} else {
				t = " " + t
			}
		}
		if s.Cleanup {
			t = cleanUp.Replace(t)
		}
		return t
	}), nil
}

func metaDecoder(raw json.RawMessage) (decoder, error) {
	s := struct {
		Type, Replacement, Str_rep, Prepend_scheme string
		Add_prefix_space                           *bool
		Split                                      bool
	}{Prepend_scheme: "always"}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	first := s.Prepend_scheme != "never" && (s.Add_prefix_space == nil || *s.Add_prefix_space)
	return each(func(i, _ int, t string) string {
		if i == 0 && first {
			t = strings.TrimPrefix(t, s.Replacement)
		}
		return strings.ReplaceAll(t, s.Replacement, " ")
	}), nil
}

// bytesOfTokens joins tokens such as <0xE2> to characters. Bytes that are no UTF-8 become U+FFFD,
// one for each byte.
func bytesOfTokens(ts []string) []string {
	var out []string
	var b []byte
	flush := func() {
		if utf8.Valid(b) && len(b) > 0 {
			out = append(out, string(b))
		} else {
			out = append(out, slices.Repeat([]string{"\ufffd"}, len(b))...)
		}
		b = nil
	}
	for _, t := range ts {
		if len(t) == 6 && strings.HasPrefix(t, "<0x") && t[5] == '>' {
			if c, err := strconv.ParseUint(t[3:5], 16, 8); err == nil {
				b = append(b, byte(c))
				continue
			}
		}
		flush()
		out = append(out, t)
	}
	flush()
	return out
}

func stripDecoder(raw json.RawMessage) (decoder, error) {
	var s struct {
		Type, Content string
		Start, Stop   int
	}
	if err := strict(raw, &s); err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(s.Content) != 1 {
		return nil, fmt.Errorf("content %q is not one character", s.Content)
	}
	return each(func(_, _ int, t string) string {
		for i := 0; i < s.Start && strings.HasPrefix(t, s.Content); i++ {
			t = t[len(s.Content):]
		}
		for i := 0; i < s.Stop && strings.HasSuffix(t, s.Content); i++ {
			t = t[:len(t)-len(s.Content)]
		}
		return t
	}), nil
}
