package op

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gomx/dtype"
)

// parseValue reads one attribute string, spelled as in MXNet's symbol JSON, into the field p
// points to.
func parseValue(p any, s string) (err error) {
	s = strings.TrimSpace(s)
	if o, ok := p.(optional); ok {
		o.mark(s != "None")
		if s == "None" {
			return nil
		}
		return parseValue(o.target(), s)
	}
	switch p := p.(type) {
	case *bool:
		*p, err = parseBool(s)
	case *int:
		*p, err = parseInt(s)
	case *float64:
		*p, err = parseFloat(s)
	case *string:
		*p = s
	case *dtype.Type:
		*p, err = parseType(s)
	case *[]int:
		*p, err = parseTuple(s, parseInt)
	case *dtype.Shape:
		*p, err = parseTuple(s, parseInt)
	case *[]float64:
		*p, err = parseTuple(s, parseFloat)
	case *[]Opt[int]:
		*p, err = parseTuple(s, parseOptInt)
	default:
		err = fmt.Errorf("op: no parser for parameters of type %T", p)
	}
	return err
}

func parseBool(s string) (bool, error) {
	switch s {
	case "True", "true", "1":
		return true, nil
	case "False", "false", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is not a boolean", s)
}

// parseInt reads an integer; Python 2 wrote longs as "3L".
func parseInt(s string) (int, error) {
	s = strings.TrimSuffix(s, "L")
	n, err := strconv.Atoi(s)
	if err == nil {
		return n, nil
	}
	if b, berr := parseBool(s); berr == nil && s != "" {
		if b {
			return 1, nil
		}
		return 0, nil
	}
	if f, ferr := strconv.ParseFloat(s, 64); ferr == nil && f == math.Trunc(f) &&
		math.Abs(f) < 1<<53 {
		return int(f), nil
	}
	return 0, fmt.Errorf("%q is not an integer", s)
}

func parseFloat(s string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSuffix(s, "L"), 64)
	if err != nil {
		if b, berr := parseBool(s); berr == nil {
			if b {
				return 1, nil
			}
			return 0, nil
		}
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return f, nil
}

func parseOptInt(s string) (Opt[int], error) {
	if s == "None" {
		return Opt[int]{}, nil
	}
	n, err := parseInt(s)
	return Some(n), err
}

// parseType reads an element type by name, or by number as old files have it.
func parseType(s string) (dtype.Type, error) {
	if n, err := strconv.Atoi(s); err == nil {
		if t := dtype.Type(n); n >= -1 && n < 128 && (t.Valid() || n == -1) {
			return t, nil
		}
		return dtype.Unknown, fmt.Errorf("%d is not a code of an element type", n)
	}
	return dtype.Parse(s)
}

// parseTuple reads "(1, 2)", "[1,2]", "(3,)", "()", or a single element; "None" is empty too.
func parseTuple[T any](s string, elem func(string) (T, error)) ([]T, error) {
	list := []T{}
	if s == "None" {
		return list, nil
	}
	if len(s) >= 2 && (s[0] == '(' && s[len(s)-1] == ')' || s[0] == '[' && s[len(s)-1] == ']') {
		s = s[1 : len(s)-1]
	} else if strings.ContainsAny(s, "()[]") || s == "" {
		return nil, fmt.Errorf("%q is not a tuple", s)
	}
	s = strings.TrimSuffix(strings.TrimSpace(s), ",")
	if s == "" {
		return list, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		v, err := elem(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// formatValue writes the field p points to as MXNet's Python front end would.
func formatValue(p any) string {
	if o, ok := p.(optional); ok {
		if !o.isSet() {
			return "None"
		}
		return formatValue(o.target())
	}
	switch p := p.(type) {
	case *bool:
		return formatBool(*p)
	case *int:
		return strconv.Itoa(*p)
	case *float64:
		return formatFloat(*p)
	case *string:
		return *p
	case *dtype.Type:
		return p.String()
	case *[]int:
		return formatTuple(*p, strconv.Itoa)
	case *dtype.Shape:
		return formatTuple(*p, strconv.Itoa)
	case *[]float64:
		return formatTuple(*p, formatFloat)
	case *[]Opt[int]:
		return formatTuple(*p, func(o Opt[int]) string { return formatValue(&o) })
	}
	return fmt.Sprint(p)
}

func formatBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// formatFloat writes negative zero, which stands for an explicit zero, as zero.
func formatFloat(f float64) string { return strconv.FormatFloat(f+0, 'g', -1, 64) }

func formatTuple[T any](list []T, elem func(T) string) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = elem(v)
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// ParseTuple reads a tuple of integers as attribute strings spell it: "(1, 2)", "[1,2]", "3".
func ParseTuple(s string) ([]int, error) { return parseTuple(strings.TrimSpace(s), parseInt) }

// ParseType reads an element type by name or by MXNet's code.
func ParseType(s string) (dtype.Type, error) { return parseType(strings.TrimSpace(s)) }
