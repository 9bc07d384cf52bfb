package manual

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func pages(t *testing.T) []Page {
	t.Helper()
	list, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 20 {
		t.Fatalf("%d pages found: is this the repository?", len(list))
	}
	return list
}

func TestLinks(t *testing.T) {
	for _, fault := range DeadLinks(root, pages(t)) {
		t.Error(fault)
	}
}

func TestNavigation(t *testing.T) {
	faults, err := Navigation(root, pages(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// foreign finds the heads of columns whose names belong to other platforms.
var foreign = regexp.MustCompile(`(?i)mx|torch|gorgonia|python|handler|onnx`)

// TestNames demands that the Go names of the pages exist, in the text and in tables.
func TestNames(t *testing.T) {
	x, err := NewIndex(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages(t) {
		var heads []string
		for i, l := range p.Lines {
			cells := row(l.Text)
			if cells == nil {
				heads = nil
			} else if i+1 < len(p.Lines) && strings.HasPrefix(p.Lines[i+1].Text, "|--") {
				heads = cells
			}
			if cells == nil {
				cells = []string{l.Text}
			}
			for c, cell := range cells {
				if c < len(heads) && foreign.MatchString(heads[c]) {
					continue
				}
				for _, s := range (Line{Text: cell}).Spans() {
					if _, bad := x.Check(s); len(bad) > 0 {
						t.Errorf("%s:%d: %s: there is no %s", p.Path, l.Number, s,
							strings.Join(bad, ", "))
					}
				}
			}
		}
	}
}

// row returns the cells of a line of a table, nil for other lines.
func row(line string) []string {
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	return strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "¦"), "| "), "|")
}

// TestTables demands that every row of the tables of the pages for users of other platforms has Go
// names that exist, and that the table for MXNet has at least 200 calls.
func TestTables(t *testing.T) {
	x, err := NewIndex(root)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for _, p := range pages(t) {
		if !strings.HasPrefix(p.Path, "docs/from-") {
			continue
		}
		column := -1
		for _, l := range p.Lines {
			cells := row(l.Text)
			switch {
			case cells == nil:
				column = -1
			case len(cells) == 3 && strings.TrimSpace(cells[2]) == "remark":
				column = 1
			case column == 1 && !strings.HasPrefix(cells[0], "-"):
				for _, s := range (Line{Text: cells[1]}).Spans() {
					good, _ := x.Check(s)
					if rows[p.Path]++; len(good) == 0 {
						t.Errorf("%s:%d: there is no %s", p.Path, l.Number, s)
					}
				}
			}
		}
	}
	for page, least := range map[string]int{"mxnet": 200, "pytorch": 60, "gorgonia": 20} {
		if n := rows["docs/from-"+page+".md"]; n < least {
			t.Errorf("docs/from-%s.md has %d names in its tables, want %d", page, n, least)
		}
	}
}

// TestCommands demands that the targets of make, the programs of go run and their flags exist.
func TestCommands(t *testing.T) {
	for _, p := range pages(t) {
		for _, c := range p.Commands("make", "go") {
			if fault := CheckCommand(root, c.Words); fault != "" {
				t.Errorf("%s:%d: %s: %s", p.Path, c.Line, strings.Join(c.Words, " "), fault)
			}
		}
	}
}

func ExampleParse() {
	p, err := Parse("page.md", "# Title\n\n```go\nfmt.Println(1)\n```\n\n```output\n1\n```\n")
	fmt.Println(err, p.Blocks[0].Lang, p.Blocks[0].Line, p.Blocks[0].Output)
	// Output: <nil> go 4 1
}
