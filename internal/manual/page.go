package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Page is one page of the manual.
type Page struct {
	Path     string // from the root of the tree, with slashes
	Lines    []Line // the text outside blocks and comments
	Blocks   []Block
	Preamble string
	PreLine  int  // line number of the preamble's first line
	Run      bool // the page is run, not compiled only
}

// Line is a line of text of a page.
type Line struct {
	Number int
	Text   string
}

// Block is a fenced block of a page.
type Block struct {
	Lang   string
	Line   int // line number of its first line
	Text   string
	Output string // content of the block of the kind "output" behind it
	Prints bool   // there is such a block
}

// Pages reads README.md, the pages of docs and the pages of its folders.
func Pages(root string) ([]Page, error) {
	files := []string{filepath.Join(root, "README.md")}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		list, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, list...)
	}
	var pages []Page
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		p, err := Parse(filepath.ToSlash(rel), string(text))
		if err != nil {
			return nil, err
		}
		pages = append(pages, p)
	}
	return pages, nil
}

// Parse divides a page into lines, blocks and comments of the manual.
func Parse(path, text string) (Page, error) {
	p := Page{Path: path}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch mark := strings.TrimSpace(line); {
		case strings.HasPrefix(mark, "```"):
			end := find(lines, i+1, "```")
			if end < 0 {
				return p, fmt.Errorf("%s:%d: the block has no end", path, i+1)
			}
			p.add(strings.TrimPrefix(mark, "```"), i+2, lines[i+1:end])
			i = end
		case mark == "<!-- manual:run -->":
			p.Run = true
		case mark == "<!-- manual:preamble":
			end := find(lines, i+1, "-->")
			if end < 0 || p.Preamble != "" {
				return p, fmt.Errorf("%s:%d: the preamble has no end, or is the second one", path,
					i+1)
			}
			p.Preamble, p.PreLine = strings.Join(lines[i+1:end], "\n")+"\n", i+2
			i = end
		case strings.HasPrefix(mark, "<!-- manual:"):
			return p, fmt.Errorf("%s:%d: %s is unknown; want manual:run or manual:preamble", path,
				i+1, mark)
		default:
			p.Lines = append(p.Lines, Line{i + 1, line})
		}
	}
	return p, nil
}

// add appends a block, or the output of the last one.
func (p *Page) add(lang string, line int, lines []string) {
	text := strings.Join(lines, "\n") + "\n"
	if n := len(p.Blocks); lang == "output" && n > 0 {
		p.Blocks[n-1].Output, p.Blocks[n-1].Prints = text, true
		return
	}
	p.Blocks = append(p.Blocks, Block{Lang: lang, Line: line, Text: text})
}

// find returns the index of the next line that is mark, -1 if there is none.
func find(lines []string, from int, mark string) int {
	i := slices.IndexFunc(lines[from:], func(l string) bool { return strings.TrimSpace(l) == mark })
	if i < 0 {
		return -1
	}
	return from + i
}

// span is a piece of code within a line of text.
var span = regexp.MustCompile("`([^`]+)`")

// Spans returns the pieces of code within a line.
func (l Line) Spans() []string {
	var list []string
	for _, m := range span.FindAllStringSubmatch(l.Text, -1) {
		list = append(list, m[1])
	}
	return list
}

// shellLangs are the kinds of blocks whose lines may be commands.
var shellLangs = []string{"", "sh", "console"}

// Command is a command line that a page names.
type Command struct {
	Line  int
	Words []string
}

// assignment is a variable before a command.
var assignment = regexp.MustCompile(`^[A-Z_]+=`)

// Commands returns the command lines in blocks and in the text whose first word is one of names.
// Arguments behind a shell's operator belong to another command.
func (p Page) Commands(names ...string) []Command {
	var list []Command
	add := func(number int, text string) {
		text, _, _ = strings.Cut(text, " #")
		for _, part := range regexp.MustCompile(`&&|\|\||[|;&()]`).Split(text, -1) {
			part, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(part), "$ "), "    ")
			words := strings.Fields(part)
			for len(words) > 0 && assignment.MatchString(words[0]) {
				words = words[1:]
			}
			if len(words) > 1 && slices.Contains(names, words[0]) {
				list = append(list, Command{number, words})
			}
		}
	}
	for _, b := range p.Blocks {
		if !slices.Contains(shellLangs, b.Lang) {
			continue
		}
		text := strings.ReplaceAll(b.Text, "\\\n", " ")
		for i, line := range strings.Split(text, "\n") {
			add(b.Line+i, line)
		}
	}
	for _, l := range p.Lines {
		for _, s := range l.Spans() {
			add(l.Number, s)
		}
	}
	return list
}
