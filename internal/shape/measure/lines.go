package measure

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"unicode/utf8"
)

// LongLine is the number of columns at which comments and code are wrapped; a tab counts as four.
const LongLine = 100

// FreeRelative finds the words of sentences that a reader has to read twice: a noun should stand
// in their place.
var FreeRelative = regexp.MustCompile(`(?i)\b(what|who|whoever|whatever|that of|those of)\b`)

// counts are the lines of one file.
type counts struct {
	all, code, comment, relative, long int
}

// scan counts the lines of a file. A line with code and a trailing comment is a line of code.
func scan(fset *token.FileSet, file *ast.File, text string) counts {
	var c counts
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	comment, tagged := commentLines(fset, file, len(lines)), taggedLines(fset, file)
	for i, line := range lines {
		c.all++
		if columns(line) > LongLine && !tagged[i+1] {
			c.long++
		}
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "":
		case comment[i] && startsComment(trimmed, comment, i):
			c.comment++
			if FreeRelative.MatchString(trimmed) {
				c.relative++
			}
		default:
			c.code++
		}
	}
	return c
}

// taggedLines are the lines, from 1 on, that hold the tag of a struct field. The syntax of Go does
// not let a tag continue on another line, so such a line may be long.
func taggedLines(fset *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil {
			lines[fset.Position(f.Tag.Pos()).Line] = true
		}
		return true
	})
	return lines
}

// commentLines marks the lines that a comment touches.
func commentLines(fset *token.FileSet, file *ast.File, n int) []bool {
	marked := make([]bool, n)
	for _, group := range file.Comments {
		for _, c := range group.List {
			from, to := fset.Position(c.Pos()).Line, fset.Position(c.End()).Line
			for l := from; l <= to && l <= n; l++ {
				marked[l-1] = true
			}
		}
	}
	return marked
}

// startsComment tells whether a marked line holds nothing but comment: it begins with a comment,
// or it continues a block comment of the line before.
func startsComment(trimmed string, comment []bool, i int) bool {
	if strings.HasPrefix(trimmed, "//") || strings.HasPrefix(trimmed, "/*") {
		return true
	}
	return i > 0 && comment[i-1] && !strings.Contains(trimmed, "//")
}

// columns is the width of a line on a screen with tab stops of four columns.
func columns(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}
