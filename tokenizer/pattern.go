package tokenizer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A pattern is a string or a regular expression that rules of a file look for. Expressions are
// in the syntax of Oniguruma; compile translates the ones that regexp can match too.
type pattern struct {
	String *string
	Regex  *string

	re *regexp.Regexp
	// ahead says that the first group of re stands for `\s+(?!\S)`: white space that gives its last
	// letter to the word after it.
	ahead bool
}

// The classes of Unicode that Oniguruma's \s, \w and \d mean, as parts of a class of regexp.
const (
	spaceClass = `\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}` +
		`\x{3000}`
	wordClass  = `\p{L}\p{M}\p{Nd}\p{Pc}`
	digitClass = `\p{Nd}`
)

// compile prepares find and checks that exactly one of the forms is given.
func (p *pattern) compile() error {
	if (p.String == nil) == (p.Regex == nil) {
		return errors.New(`a pattern has either "String" or "Regex"`)
	}
	if p.String != nil {
		if *p.String == "" {
			return errors.New("a pattern is empty")
		}
		return nil
	}
	text := *p.Regex
	const ahead = `\s+(?!\S)|\s+`
	if rest, ok := strings.CutSuffix(text, ahead); ok {
		text, p.ahead = rest+`(\s+)`, true
		if strings.Contains(strings.ReplaceAll(rest, `\(`, ""), "(") &&
			strings.Count(rest, "(") != strings.Count(rest, "(?") {
			return fmt.Errorf("regular expression %q has groups, which are not supported", *p.Regex)
		}
	}
	text, err := translate(text)
	if err != nil {
		return fmt.Errorf("regular expression %q: %w", *p.Regex, err)
	}
	if p.re, err = regexp.Compile(text); err != nil {
		return fmt.Errorf("regular expression %q is not supported: %w", *p.Regex, err)
	}
	return nil
}

// classOf returns the class that a letter behind a backslash stands for, and whether it stands for
// all other characters; "" for other letters.
func classOf(c byte) (class string, not bool) {
	switch c {
	case 's', 'S':
		return spaceClass, c == 'S'
	case 'w', 'W':
		return wordClass, c == 'W'
	case 'd', 'D':
		return digitClass, c == 'D'
	}
	return "", false
}

// translate writes an expression of Oniguruma as one of regexp.
func translate(text string) (string, error) {
	var b strings.Builder
	class := 0        // depth of classes
	repeated := false // the last sign repeats its left side
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) {
			i++
			part, not := classOf(text[i])
			switch {
			case part == "":
				n := i + 1
				end := strings.IndexByte(text[i:], '}')
				if end > 0 && strings.HasPrefix(text[n:], "{") {
					n = i + end + 1 // a property such as \p{L}
				}
				b.WriteString(text[i-1 : n])
				i = n - 1
			case class > 0 && not:
				return "", fmt.Errorf("%q within a class is not supported", text[i-1:i+1])
			case class > 0:
				b.WriteString(part)
			case not:
				b.WriteString("[^" + part + "]")
			default:
				b.WriteString("[" + part + "]")
			}
			repeated = false
			continue
		}
		switch {
		case c == '[' && class > 0 && !strings.HasPrefix(text[i:], "[:"), c == '&' && class > 0:
			return "", errors.New("classes within classes are not supported")
		case c == '[' && class == 0:
			class++
			b.WriteByte(c)
			for i+1 < len(text) && (text[i+1] == '^' || text[i+1] == ']') {
				i++
				b.WriteByte(text[i])
				if text[i] == ']' {
					break
				}
			}
			continue
		case c == ']' && class > 0:
			class--
		case c == '+' && class == 0 && repeated:
			return "", errors.New("possessive repetitions are not supported")
		}
		repeated = class == 0 && strings.IndexByte("?*+}", c) >= 0
		b.WriteByte(c)
	}
	return b.String(), nil
}

// find returns the matches in ls from left to right, as pairs of numbers of letters. Empty matches
// are left out.
func (p *pattern) find(ls []letter) [][2]int {
	text := textOf(ls)
	var out [][2]int
	if p.String != nil {
		n := utf8.RuneCountInString(*p.String)
		for at, i := 0, 0; ; {
			j := strings.Index(text[at:], *p.String)
			if j < 0 {
				return out
			}
			i += utf8.RuneCountInString(text[at : at+j])
			out = append(out, [2]int{i, i + n})
			at, i = at+j+len(*p.String), i+n
		}
	}
	if !p.ahead {
		at, i := 0, 0
		for _, m := range p.re.FindAllStringIndex(text, -1) {
			if m[0] == m[1] {
				continue
			}
			i += utf8.RuneCountInString(text[at:m[0]])
			n := utf8.RuneCountInString(text[m[0]:m[1]])
			out = append(out, [2]int{i, i + n})
			at, i = m[1], i+n
		}
		return out
	}
	for at, i := 0, 0; at < len(text); {
		m := p.re.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		from, to := at+m[0], at+m[1]
		if from == to {
			_, n := utf8.DecodeRuneInString(text[from:])
			i += utf8.RuneCountInString(text[at : from+n])
			at = from + n
			continue
		}
		if m[2] >= 0 && to < len(text) {
			if _, n := utf8.DecodeLastRuneInString(text[from:to]); to-n > from {
				to -= n
			}
		}
		i += utf8.RuneCountInString(text[at:from])
		n := utf8.RuneCountInString(text[from:to])
		out = append(out, [2]int{i, i + n})
		at, i = to, i+n
	}
	return out
}
