package initializer

import (
	"fmt"
	"regexp"
)

// Mixed chooses an initializer by name: the first rule whose pattern matches at the beginning of
// the parameter's name.
type Mixed []Rule

// Rule is one rule of Mixed.
type Rule struct {
	Pattern string // a regular expression
	Init    Initializer
}

// Weight fills dst by the first rule that matches.
func (m Mixed) Weight(d Desc, dst []float32) error {
	r, err := m.rule(d.Name)
	if err != nil {
		return err
	}
	return r.Weight(d, dst)
}

func (m Mixed) choose(d Desc, dst []float32) error {
	r, err := m.rule(d.Name)
	if err != nil {
		return err
	}
	return fill(r, d, dst)
}

func (m Mixed) rule(name string) (Initializer, error) {
	for _, r := range m {
		re, err := regexp.Compile("^(?:" + r.Pattern + ")")
		if err != nil {
			return nil, fmt.Errorf("mixed: pattern %q: %w", r.Pattern, err)
		}
		if re.MatchString(name) {
			return r.Init, nil
		}
	}
	return nil, fmt.Errorf("mixed: no pattern matches; end the rules with \".*\"")
}

// Load takes existing values by name and uses Default for other parameters.
type Load struct {
	Values  map[string][]float32
	Default Initializer // nil: a name without values is an error
}

// Weight fills dst.
func (l Load) Weight(d Desc, dst []float32) error { return l.choose(d, dst) }

func (l Load) choose(d Desc, dst []float32) error {
	v, ok := l.Values[d.Name]
	switch {
	case !ok && l.Default == nil:
		return fmt.Errorf("load: no values and no default initializer")
	case !ok:
		return fill(l.Default, d, dst)
	case len(v) != len(dst):
		return fmt.Errorf("load: %d values, want %d for shape %v", len(v), len(dst), d.Shape)
	}
	copy(dst, v)
	return nil
}
