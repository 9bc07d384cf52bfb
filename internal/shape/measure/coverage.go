package measure

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Coverage reads a profile written by `go test -coverprofile` and returns the share of statements
// that ran, from 0 to 1, by the import path of each package. A block that several runs list counts
// as covered if one of them reached it. The text that `go test -cover` prints will do as well: its
// lines name a package and the share.
func Coverage(profile io.Reader) (map[string]float64, error) {
	type block struct {
		statements int
		reached    bool
	}
	blocks, printed := map[string]block{}, map[string]float64{}
	lines := bufio.NewScanner(profile)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "mode:") || line == "" {
			continue
		}
		if pkg, share, ok := printedShare(line); ok {
			printed[pkg] = share
			continue
		}
		if printedLine.MatchString(line) {
			continue
		}
		place, rest, _ := strings.Cut(line, " ")
		var statements, hits int
		if _, err := fmt.Sscanf(rest, "%d %d", &statements, &hits); err != nil {
			return nil, fmt.Errorf("coverage profile: line %q: %w", line, err)
		}
		b := blocks[place]
		blocks[place] = block{statements, b.reached || hits > 0}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("coverage profile: %w", err)
	}
	reached, all := map[string]int{}, map[string]int{}
	for place, b := range blocks {
		file, _, _ := strings.Cut(place, ":")
		pkg := path.Dir(file)
		all[pkg] += b.statements
		if b.reached {
			reached[pkg] += b.statements
		}
	}
	out := printed
	for pkg, n := range all {
		out[pkg] = share(reached[pkg], n)
	}
	return out, nil
}

// printedLine matches the lines that `go test -cover` prints for packages, printedCover the share
// in them.
var (
	printedLine  = regexp.MustCompile(`^(ok|FAIL|---|\?|\t)`)
	printedCover = regexp.MustCompile(`^(?:ok)?\s+(\S+)\s.*coverage: ([0-9.]+)% of statements`)
)

// printedShare reads the share of statements from a line that `go test -cover` has printed.
func printedShare(line string) (pkg string, share float64, ok bool) {
	m := printedCover.FindStringSubmatch(line)
	if m == nil {
		return "", 0, false
	}
	percent, err := strconv.ParseFloat(m[2], 64)
	return m[1], percent / 100, err == nil
}
