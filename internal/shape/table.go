package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gomx/internal/shape/measure"
)

const (
	begin = "<!-- shape: begin (go run ./internal/shape --write) -->\n"
	end   = "<!-- shape: end -->\n"
)

// mark stands behind figures beyond the limits that package measure lists.
const mark = " ⚠"

// table is a Markdown table with a row per package. covered has shares by import path.
func table(pkgs []measure.Package, covered map[string]float64) string {
	var b strings.Builder
	b.WriteString("| package | code | tests | coverage | comments | stems | widest struct | " +
		"largest type | long lines | relatives |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range pkgs {
		if p.Code == 0 {
			continue
		}
		core, internal := slices.Contains(measure.Cores, p.Path),
			strings.HasPrefix(p.Path, "internal/")
		cells := []string{p.Path, strconv.Itoa(p.Code), strconv.Itoa(p.Tests),
			coverageOf(p.Path, core, covered),
			percent(0, p.CommentShare(), core && p.CommentShare() < measure.LeastComment),
			strconv.Itoa(len(p.Stems)) + marked(!internal && len(p.Stems) > measure.MostStems),
			named(p.Widest.Name, p.Widest.Fields) +
				marked(!internal && p.Widest.Fields > measure.MostFields),
			named(p.Largest.Name, p.Largest.Methods) +
				marked(p.Largest.Methods > measure.MostMethods),
			percent(1, p.LongShare(), p.LongShare() >= measure.MostLong),
			percent(1, p.RelativeShare(), p.RelativeShare() >= measure.MostRelative)}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// percent spells a share, from 0 to 1, with a number of digits behind the point.
func percent(digits int, share float64, beyond bool) string {
	return fmt.Sprintf("%.*f %%", digits, 100*share) + marked(beyond)
}

func marked(beyond bool) string {
	if beyond {
		return mark
	}
	return ""
}

// coverageOf finds the share of a folder among import paths that end in it.
func coverageOf(folder string, core bool, covered map[string]float64) string {
	for path, share := range covered {
		if _, rest, _ := strings.Cut(path, "/"); rest == folder {
			return percent(0, share, core && share < measure.LeastCover)
		}
	}
	return ""
}

func named(name string, n int) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%s %d", name, n)
}

// replace puts text between the marks of a page.
func replace(page, text string) (string, error) {
	before, rest, found := strings.Cut(page, begin)
	if !found {
		return "", errors.New("no line " + strings.TrimSpace(begin))
	}
	_, after, found := strings.Cut(rest, end)
	if !found {
		return "", errors.New("no line " + strings.TrimSpace(end))
	}
	return before + begin + text + end + after, nil
}
