package script

import (
	"fmt"
	"strconv"
	"strings"
)

// Play passes the commands of a script on, and returns the script with the answers that it got.
// Answers of the script itself, and lines with #, are passed over. A command that makes no sense
// panics with the line.
func Play(script string, command func(out *strings.Builder, words []string)) string {
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line + "\n")
		if words := strings.Fields(line); len(words) > 0 && line[0] != '#' {
			func() {
				defer func() {
					if r := recover(); r != nil {
						panic(fmt.Sprintf("%s: %v", line, r))
					}
				}()
				command(&out, words)
			}()
		}
	}
	return out.String()
}

// Options are the words of a line behind its command: values by name, and flags.
type Options map[string]string

// firstWord is the name under which Options keep the first word.
const firstWord = "first word"

// Parse reads words such as seq=1 and direct.
func Parse(words []string) Options {
	o := Options{}
	for i, w := range words {
		name, value, _ := strings.Cut(w, "=")
		o[name] = value
		if i == 0 {
			o[firstWord] = name
		}
	}
	return o
}

// First returns the first word, without its value.
func (o Options) First() string { return o[firstWord] }

// Has reports whether a word is there.
func (o Options) Has(name string) bool {
	_, ok := o[name]
	return ok
}

// Number returns the number behind a name, or the name itself if it is one. The name of a question
// of a worker is written 3@1: question 3, in slot 1.
func (o Options) Number(name string, missing uint64) uint64 {
	v, ok := o[name]
	if !ok {
		return missing
	}
	if v == "" {
		v = name
	}
	if question, slot, ok := strings.Cut(v, "@"); ok {
		return unsigned(question)<<20 | unsigned(slot)
	}
	return unsigned(v)
}

func unsigned(text string) uint64 {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// Int returns the number behind a name, which may be negative.
func (o Options) Int(name string, missing int) int {
	v, ok := o[name]
	if !ok {
		return missing
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		panic(err)
	}
	return n
}

// Numbers returns the list of numbers behind a name.
func (o Options) Numbers(name string) (list []float32) {
	return numbers(o[name])
}

func numbers(text string) (list []float32) {
	for word := range strings.SplitSeq(text, ",") {
		if word == "" {
			continue
		}
		v, err := strconv.ParseFloat(word, 32)
		if err != nil {
			panic(err)
		}
		list = append(list, float32(v))
	}
	return list
}
