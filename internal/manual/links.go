package manual

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	linkForm    = regexp.MustCompile(`\]\(([^)\s]+)(?:\s+"[^"]*")?\)`)
	headingForm = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	fileForm    = regexp.MustCompile(`^(docs|examples|internal|cmd/gomx)(/[\w.-]+)+/?$`)
)

// Anchors returns the anchors of the headings of a page, as mkdocs and as GitHub make them. An
// anchor has the value true if both agree.
func (p Page) Anchors() map[string]bool {
	mk, hub := map[string]bool{}, map[string]bool{}
	for _, l := range p.Lines {
		m := headingForm.FindStringSubmatch(l.Text)
		if m == nil {
			continue
		}
		text := strings.NewReplacer("`", "", "*", "").Replace(m[1])
		mk[unique(mk, strings.Join(strings.FieldsFunc(clean(text, true), func(r rune) bool {
			return r == '-' || r == ' '
		}), "-"), "_")] = true
		hub[unique(hub, strings.ReplaceAll(clean(text, false), " ", "-"), "-")] = true
	}
	both := map[string]bool{}
	for a := range mk {
		both[a] = hub[a]
	}
	for a := range hub {
		both[a] = mk[a]
	}
	return both
}

// clean keeps the lower-case letters, digits, blanks, hyphens and underscores of a heading.
func clean(text string, ascii bool) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' ||
			(unicode.IsLetter(r) || unicode.IsDigit(r)) && (!ascii || r < 128) {
			return unicode.ToLower(r)
		}
		return -1
	}, text))
}

// unique numbers the anchors of equal headings.
func unique(have map[string]bool, anchor, sep string) string {
	name := anchor
	for i := 1; have[name]; i++ {
		name = fmt.Sprint(anchor, sep, i)
	}
	return name
}

// DeadLinks lists the links to pages, headings and files that do not exist, and the names of files
// in the text that do not exist. Links of pages in docs stay within docs: the site has no more.
func DeadLinks(root string, pages []Page) []string {
	anchors := map[string]map[string]bool{}
	for _, p := range pages {
		anchors[p.Path] = p.Anchors()
	}
	var faults []string
	for _, p := range pages {
		for _, l := range p.Lines {
			for _, m := range linkForm.FindAllStringSubmatch(span.ReplaceAllString(l.Text, ""), -1) {
				if fault := deadLink(root, p.Path, m[1], anchors); fault != "" {
					faults = append(faults, fmt.Sprintf("%s:%d: %s", p.Path, l.Number, fault))
				}
			}
			for _, s := range l.Spans() {
				if fileForm.MatchString(s) && !exists(root, s) {
					faults = append(faults, fmt.Sprintf("%s:%d: the file %s does not exist", p.Path,
						l.Number, s))
				}
			}
		}
	}
	return faults
}

func exists(root, name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

// deadLink returns the fault of a link of the page from, or "".

func deadLink(root, from, link string, anchors map[string]map[string]bool) string {
	if regexp.MustCompile(`^[a-z]+:`).MatchString(link) {
		return ""
	}
	name, anchor, hasAnchor := strings.Cut(link, "#")
	to := from
	if name != "" {
		to = path.Join(path.Dir(from), name)
		if strings.HasPrefix(from, "docs/") && !strings.HasPrefix(to, "docs/") {
			return "the link " + link + " leaves docs, so that the site does not have its target"
		}
		if !exists(root, to) {
			return "the link " + link + " leads to " + to + ", which does not exist"
		}
	}
	if !hasAnchor {
		return ""
	}
	switch both, ok := anchors[to][anchor]; {
	case !ok:
		return "the link " + link + " leads to a heading that " + to + " does not have"
	case !both:
		return "the link " + link + " is another one on the site: choose a heading of letters, " +
			"digits and single blanks"
	}
	return ""
}

// navForm is an entry of the navigation in mkdocs.yml.
var navForm = regexp.MustCompile(`(?m)^\s*- (?:[^:\n]+: )?([\w/.-]+\.md)$`)

// Navigation compares the navigation of the site with the pages of docs.
func Navigation(root string, pages []Page) (faults []string, err error) {
	text, err := os.ReadFile(filepath.Join(root, "mkdocs.yml"))
	if err != nil {
		return nil, err
	}
	var listed []string
	for _, m := range navForm.FindAllStringSubmatch(string(text), -1) {
		if slices.Contains(listed, m[1]) {
			faults = append(faults, "mkdocs.yml lists "+m[1]+" twice")
		}
		listed = append(listed, m[1])
	}
	have := map[string]bool{}
	for _, p := range pages {
		name, ok := strings.CutPrefix(p.Path, "docs/")
		if have[name] = ok; ok && !slices.Contains(listed, name) {
			faults = append(faults, "mkdocs.yml does not list "+name)
		}
	}
	for _, name := range listed {
		if !have[name] {
			faults = append(faults, "mkdocs.yml lists "+name+", which does not exist")
		}
	}
	return faults, nil
}
