package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gomx/device"
)

// Two builds alternate at least leastAgainst times. A line below againstFloor is measured once
// more, alone.
const (
	leastAgainst = 10
	againstFloor = 0.93
)

// oldName is the name of the other build in the output.
const oldName = "old"

// duel measures two builds of this program in turn. It uses only the command line that every build
// has: bench NAME --match LINE --rounds 1.
type duel struct {
	suite  *Suite
	config *Config
	builds [2]string // paths of this build and the other
	extra  []string  // further arguments of both
	failed error     // last failure of the other build, which fails on lines that it does not have
}

// samples are the figures of a line, of both builds.
type samples struct {
	unit    string
	figures [2][]float64
}

// against measures the suite in this build and in another, and prints medians.
func (s *Suite) against(ctx context.Context, c *Config) error {
	if c.Rounds == 0 {
		c.Rounds = leastAgainst
	}
	switch {
	case s.run != nil:
		return fmt.Errorf("bench: suite %s compares systems, want another suite to compare builds",
			c.Suite)
	case c.Rounds < leastAgainst:
		return fmt.Errorf("bench: %d rounds against another build, want at least %d", c.Rounds,
			leastAgainst)
	case len(c.Peers) > 0:
		return errors.New("bench: found peers and another build, want one of them")
	}
	this, err := os.Executable()
	if err != nil {
		return err
	}
	return s.fight(ctx, c, this)
}

// fight compares this build, at path this, with the build of the configuration.
func (s *Suite) fight(ctx context.Context, c *Config, this string) error {
	other, err := filepath.Abs(c.Against)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath(other); err != nil {
		return fmt.Errorf("bench: the other build: %w", err)
	}
	list, notes, err := s.chosen(c)
	if err != nil {
		return err
	}
	d := &duel{s, c, [2]string{this, other}, s.sameArguments(c), nil}
	notes = append(notes, fmt.Sprintf("against %s, medians of %d alternations", c.Against,
		c.Rounds))
	printHeader(c, notes...)
	return d.run(ctx, list)
}

// sameArguments returns the arguments, beyond name, match and rounds, that both builds get.
func (s *Suite) sameArguments(c *Config) []string {
	var args []string
	if s.sampled {
		args = append(args, "--all") // --match names the line
	}
	if c.Device != device.CPU() {
		args = append(args, "--device", strings.Replace(c.Device.String(), "gpu", "cuda", 1),
			"--precision", c.Precision, "--streams", strconv.Itoa(c.Streams))
		if c.Replay {
			args = append(args, "--replay")
		}
	}
	return args
}

// run measures all lines, and then the lines below the floor once more.
func (d *duel) run(ctx context.Context, list []Workload) error {
	var all means
	var low []string
	groups := groupsOf(list)
	for i, g := range groups {
		logf(d.config.Log, "%d of %d: %s\n", i+1, len(groups), g.match)
		got, err := d.alternate(ctx, g.match)
		if err != nil {
			return err
		}
		for _, name := range g.names {
			if d.report(name, got[name], &all, againstFloor) {
				low = append(low, name)
			}
		}
	}
	printRepeated(d.config.Out, len(low), againstFloor)
	for _, name := range low {
		got, err := d.alternate(ctx, name)
		if err != nil {
			return err
		}
		d.report(name, got[name], &all, 0)
	}
	if len(all.best) == 0 {
		return fmt.Errorf("bench: %s prints no common line of suite %s%s",
			d.builds[1], d.suite.Name, d.reason())
	}
	all.print(d.config.Out, d.config.Suite)
	return nil
}

// report prints the medians of a line. If the line is below the floor, it prints no medians and
// returns true.
func (d *duel) report(name string, s *samples, all *means, floor float64) (low bool) {
	switch {
	case s == nil || len(s.figures[1]) == 0:
		fmt.Fprintf(d.config.Out, "# %s: the other build does not measure it%s\n", name, d.reason())
		return false
	case len(s.figures[0]) == 0:
		fmt.Fprintf(d.config.Out, "# %s: only the other build measures it\n", name)
		return false
	}
	w := &Workload{Name: name, Unit: s.unit}
	r := &result{ours: median(s.figures[0]), best: median(s.figures[1]), bestPeer: oldName}
	r.by = map[string]float64{oldName: r.best}
	if got := ratio(w.Unit, r.ours, r.best); got < floor {
		printLow(d.config.Out, name, got, floor)
		return true
	}
	r.print(d.config.Out, w)
	all.add(w, r)
	return false
}

// reason describes the failure of the other build, if there was one.
func (d *duel) reason() string {
	if d.failed == nil {
		return ""
	}
	return ": " + d.failed.Error()
}

// alternate runs both builds in turn on the lines whose names contain match. The two take turns at
// being first.
func (d *duel) alternate(ctx context.Context, match string) (map[string]*samples, error) {
	all := map[string]*samples{}
	for round := range d.config.Rounds {
		for turn := range d.builds {
			side := (round + turn) % len(d.builds)
			lines, err := d.lines(ctx, d.builds[side], match)
			if err != nil && side == 0 {
				return nil, err
			}
			if err != nil {
				d.failed = err
				continue
			}
			for _, l := range lines {
				if all[l.name] == nil {
					all[l.name] = &samples{unit: l.unit}
				}
				s := all[l.name]
				s.figures[side] = append(s.figures[side], l.value)
			}
		}
		logf(d.config.Log, "%s: round %d of %d\n", match, round+1, d.config.Rounds)
	}
	return all, nil
}

// outputLine is one line of a build's output.
type outputLine struct {
	name, unit string
	value      float64
}

// lines runs a build once and reads its output.
func (d *duel) lines(ctx context.Context, build, match string) ([]outputLine, error) {
	args := append([]string{"bench", d.config.Suite, "--match", match, "--rounds", "1"}, d.extra...)
	out, err := output(exec.CommandContext(ctx, build, args...))
	if err != nil {
		return nil, err
	}
	return parseLines(out)
}

// parseLines reads the output of a suite without peers: name, figure, two dashes, unit.
func parseLines(out []byte) ([]outputLine, error) {
	var list []outputLine
	for line := range bytes.Lines(out) {
		text := strings.TrimRight(string(line), "\n")
		f := strings.Split(text, "\t")
		if strings.HasPrefix(text, "#") || len(f) != 6 || f[1] == "-" {
			continue
		}
		v, err := strconv.ParseFloat(f[1], 64)
		if err != nil || v <= 0 {
			return nil, fmt.Errorf("its line %q has no figure above 0", text)
		}
		list = append(list, outputLine{f[0], f[4], v})
	}
	return list, nil
}

// group is the lines that one process of a build measures: the lines whose names contain match.
type group struct {
	match string
	names []string
}

// groupsOf groups the lines so that the name of one is part of the names of the others. A build
// measures a group together, since --match wants a part of the name.
func groupsOf(list []Workload) []group {
	var groups []group
	taken := map[string]bool{}
	byLength := slices.Clone(list)
	slices.SortStableFunc(byLength, func(a, b Workload) int { return len(a.Name) - len(b.Name) })
	for _, shortest := range byLength {
		if taken[shortest.Name] {
			continue
		}
		g := group{match: shortest.Name}
		for _, w := range list {
			if !taken[w.Name] && strings.Contains(w.Name, g.match) {
				g.names = append(g.names, w.Name)
				taken[w.Name] = true
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// median returns the middle of the sorted figures, or the mean of the two in the middle.
func median(list []float64) float64 {
	s := slices.Sorted(slices.Values(list))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
