package k8s

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// object is a mapping whose keys keep their order.
type object []field

// field is an entry of an object. Its value is an object, a []any, a string, an int or a bool.
type field struct {
	key   string
	value any
}

// list returns strings as a sequence.
func list(texts []string) []any {
	var l []any
	for _, t := range texts {
		l = append(l, t)
	}
	return l
}

// yaml returns a document.
func yaml(o object) string {
	var b strings.Builder
	o.write(&b, 0)
	return b.String()
}

func (o object) write(b *strings.Builder, indent int) {
	for i, f := range o {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", indent))
		}
		b.WriteString(scalar(f.key) + ":")
		switch v := f.value.(type) {
		case object:
			b.WriteString("\n" + strings.Repeat(" ", indent+2))
			v.write(b, indent+2)
		case []any:
			b.WriteByte('\n')
			for _, e := range v {
				b.WriteString(strings.Repeat(" ", indent) + "- ")
				if o, ok := e.(object); ok {
					o.write(b, indent+2)
				} else {
					b.WriteString(scalar(e) + "\n")
				}
			}
		default:
			b.WriteString(" " + scalar(v) + "\n")
		}
	}
}

// plain are texts that every version of YAML reads as strings without quotes. Words such as yes and
// numbers are none.
var plain = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9/._-]*$`)

// reserved are words that YAML does not read as strings.
var reserved = map[string]bool{"true": true, "false": true, "yes": true, "no": true, "on": true,
	"off": true, "null": true, "y": true, "n": true}

// scalar writes a value in one line. Strings in the form of JSON are strings of YAML.
func scalar(v any) string {
	switch v := v.(type) {
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	case string:
		if plain.MatchString(v) && !reserved[strings.ToLower(v)] {
			return v
		}
		b, err := json.Marshal(v)
		if err == nil {
			return string(b)
		}
	}
	panic(fmt.Sprintf("k8s: no scalar of YAML: %T", v))
}
