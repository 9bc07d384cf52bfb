package measure

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strings"
)

// Coverage reads a profile written by `go test -coverprofile` and returns the share of statements
// that ran, from 0 to 1, by the import path of each package. A block that several runs list counts
// as covered if one of them reached it.
func Coverage(profile io.Reader) (map[string]float64, error) {
	type block struct {
		statements int
		reached    bool
	}
	blocks := map[string]block{}
	lines := bufio.NewScanner(profile)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "mode:") || line == "" {
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
	out := map[string]float64{}
	for pkg, n := range all {
		out[pkg] = share(reached[pkg], n)
	}
	return out, nil
}
