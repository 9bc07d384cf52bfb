package main

import (
	"errors"
	"fmt"
	"strings"

	"gomx/internal/shape/measure"
)

const (
	begin = "<!-- shape: begin (go run ./internal/shape --write) -->\n"
	end   = "<!-- shape: end -->\n"
)

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
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %.0f %% | %d | %s | %s | %.1f %% | %.1f %% |\n",
			p.Path, p.Code, p.Tests, coverageOf(p.Path, covered), 100*p.CommentShare(),
			len(p.Stems),
			named(p.Widest.Name, p.Widest.Fields), named(p.Largest.Name, p.Largest.Methods),
			100*p.LongShare(), 100*p.RelativeShare())
	}
	return b.String()
}

// coverageOf finds the share of a folder among import paths that end in it.
func coverageOf(folder string, covered map[string]float64) string {
	for path, share := range covered {
		if _, rest, _ := strings.Cut(path, "/"); rest == folder {
			return fmt.Sprintf("%.0f %%", 100*share)
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
