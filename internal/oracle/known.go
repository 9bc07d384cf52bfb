package oracle

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed testdata/known.txt
var knownText string

// known is a difference that stays, with its reason.
type known struct {
	kind   string // "*" for all
	op     *regexp.Regexp
	text   *regexp.Regexp // of the call, a line break and the difference
	reason string
}

// parseKnown reads lines of a kind, patterns of an operator and of a text, and a reason, separated
// by tabs. Lines that begin with # are remarks.
func parseKnown(text string) (list []known, err error) {
	for n, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 || strings.TrimSpace(f[3]) == "" {
			return nil, fmt.Errorf("oracle: known.txt:%d: %d fields, want kind, operator, text "+
				"and reason separated by tabs", n+1, len(f))
		}
		k := known{kind: f[0], reason: f[3]}
		if k.op, err = regexp.Compile("^(" + f[1] + ")$"); err == nil {
			k.text, err = regexp.Compile(f[2])
		}
		if err != nil {
			return nil, fmt.Errorf("oracle: known.txt:%d: %w", n+1, err)
		}
		list = append(list, k)
	}
	return list, nil
}

// storages matches the storage types before the element types of operands.
var storages = regexp.MustCompile(`\b(row_sparse|csr) `)

// Known returns the reason why a difference stays, "" for one that is not known.
func Known(c *Call, d Difference) string {
	list, err := parseKnown(knownText)
	if err != nil {
		return ""
	}
	text := c.String() + "\n" + d.Text
	dense := storages.ReplaceAllString(text, "") // what is known of dense operands
	for _, k := range list {
		if (k.kind == "*" || k.kind == d.Kind) && k.op.MatchString(c.Op.Name) &&
			(k.text.MatchString(text) || k.text.MatchString(dense)) {
			return k.reason
		}
	}
	return ""
}

// CheckKnown reads the list of known differences and reports its faults. exists reports
// whether an operator matches a pattern.
func CheckKnown(exists func(*regexp.Regexp) bool) error {
	list, err := parseKnown(knownText)
	if err != nil {
		return err
	}
	for _, k := range list {
		if !exists(k.op) {
			return fmt.Errorf("oracle: known.txt: no operator matches %v", k.op)
		}
	}
	return nil
}
