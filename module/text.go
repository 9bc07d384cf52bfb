package module

import (
	"fmt"
	"strings"
)

// String describes the module by its symbol, its devices and the use that it is bound for.
func (m *Module) String() string { return m.text("Module") }

// String describes the module by the symbol of its default bucket and the number of its buckets.
func (m *BucketingModule) String() string {
	if m == nil {
		return "<BucketingModule: nil>"
	}
	return m.text("BucketingModule")
}

func (m *Module) text(kind string) string {
	switch {
	case m == nil:
		return "<" + kind + ": nil>"
	case m.symbol == nil:
		return "<" + kind + ": the symbol is nil>"
	case m.symbol.Err() != nil:
		return fmt.Sprintf("<%s: %v>", kind, m.symbol.Err())
	}
	about := []string{"not bound"}
	if m.Bound() {
		use := "inference"
		if m.training {
			use = "training"
		}
		about = []string{fmt.Sprintf("%d parameters", len(m.params)), "bound for " + use}
	}
	if m.buckets != nil {
		about = append(about, fmt.Sprintf("%d buckets", len(m.buckets.known)))
	}
	var places []string
	for _, d := range m.config.places() {
		places = append(places, d.String())
	}
	return fmt.Sprintf("<%s %s: %s, on %s>", kind, m.symbol.Name(), strings.Join(about, ", "),
		strings.Join(places, ", "))
}
