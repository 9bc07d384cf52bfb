package manual

import (
	"fmt"
	"strings"
)

// mark begins a line that the script prints before each block.
const mark = "\x02block "

// Script returns a shell script of the blocks of the kind "sh" of pages, in their order. A Go
// program among them becomes main.go of the folder in which the commands before it end.
func Script(pages []Page) string {
	var b strings.Builder
	b.WriteString("set -e\n")
	for _, p := range pages {
		for _, block := range p.Blocks {
			switch {
			case block.Lang == "sh":
				fmt.Fprintf(&b, "printf '\\002block %s:%d\\n'\n%s", p.Path, block.Line, block.Text)
			case block.Lang == "go" && block.isProgram():
				fmt.Fprintf(&b, "cat > main.go <<'END OF PROGRAM'\n%sEND OF PROGRAM\n", block.Text)
			}
		}
	}
	b.WriteString("printf '\\002block end:0\\n'\n")
	return b.String()
}

// CompareScript lists the blocks of a script that have not run, or print other text than the pages
// say.
func CompareScript(pages []Page, out string) (faults []string) {
	got := map[string]string{}
	for _, part := range strings.Split(out, mark)[1:] {
		at, text, _ := strings.Cut(part, "\n")
		got[at] = text
	}
	for _, p := range pages {
		for _, b := range p.Blocks {
			if b.Lang != "sh" {
				continue
			}
			at := fmt.Sprintf("%s:%d", p.Path, b.Line)
			switch text, ran := got[at]; {
			case !ran:
				faults = append(faults, at+": the block has not run")
			case b.Prints && !Matches(b.Output, text):
				faults = append(faults, fmt.Sprintf("%s: the block prints\n%s\nbut the page says\n%s",
					at, text, b.Output))
			}
		}
	}
	return faults
}
