package main

import (
	"iter"
	"strings"
)

// letters is the number from which a piece of a page says something by itself.
const letters = 40

// pieces yields the paragraphs and the items of lists of a page in Markdown, each with the titles of
// the page and of its section. Code, tables and pictures are left out.
func pieces(page string) iter.Seq2[string, string] {
	return func(yield func(titles, text string) bool) {
		var title, section string
		for i, prose := range strings.Split(page, "```") {
			if i%2 == 1 {
				continue
			}
			for _, text := range blocks(prose) {
				switch {
				case strings.HasPrefix(text, "# "):
					title, section = text[2:]+". ", ""
				case text[0] == '#':
					section = strings.TrimLeft(text, "# ") + ". "
				case len(text) >= letters && !strings.ContainsAny(text[:1], "<!|"):
					if !yield(title+section, text) {
						return
					}
				}
			}
		}
	}
}

// blocks joins the lines of prose to paragraphs, but leaves titles, rows of tables and items apart.
func blocks(prose string) (all []string) {
	open := false // the next line continues the last block
	for line := range strings.Lines(prose) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			open = false
		case line[0] == '#' || line[0] == '|':
			all, open = append(all, line), false
		case !open || strings.HasPrefix(line, "- "):
			all, open = append(all, line), true
		default:
			all[len(all)-1] += " " + line
		}
	}
	return all
}
