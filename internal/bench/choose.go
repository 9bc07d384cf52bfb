package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// chosen returns the workloads that the configuration selects, and notes on the selection for the
// header.
func (s *Suite) chosen(c *Config) (list []Workload, notes []string, err error) {
	all, err := s.Workloads()
	if err != nil {
		return nil, nil, err
	}
	list = all
	if s.sampled && !c.All {
		list = tenth(all, c.Seed)
		notes = append(notes, fmt.Sprintf("%d of %d lines by seed %d", len(list), len(all), c.Seed))
	}
	list = slices.DeleteFunc(list, func(w Workload) bool {
		return !strings.Contains(w.Name, c.Match)
	})
	if len(list) == 0 {
		hint := ""
		if s.sampled && !c.All {
			hint = " among those of seed " + fmt.Sprint(c.Seed) + "; --all measures every one"
		}
		return nil, nil, fmt.Errorf("bench: suite %s has no workload whose name contains %q%s",
			s.Name, c.Match, hint)
	}
	return list, notes, nil
}

// tenth returns a tenth of the workloads of each family, rounded up, in their order. The family is
// the part of a name before the second dot.
func tenth(list []Workload, seed uint64) []Workload {
	families := map[string][]int{}
	var names []string
	for i, w := range list {
		name := family(w.Name)
		if families[name] == nil {
			names = append(names, name)
		}
		families[name] = append(families[name], i)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	var picked []int
	for _, name := range names {
		of := families[name]
		rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		picked = append(picked, of[:(len(of)+9)/10]...)
	}
	slices.Sort(picked)
	some := make([]Workload, len(picked))
	for i, k := range picked {
		some[i] = list[k]
	}
	return some
}

// family returns the first two words of a name.
func family(name string) string {
	words := strings.SplitN(name, ".", 3)
	return strings.Join(words[:min(2, len(words))], ".")
}
