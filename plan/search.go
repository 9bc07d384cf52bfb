package plan

import (
	"cmp"
	"slices"

	"gomx/kvstore/compress"
)

// Profiler gives the work of a network for a batch and a number of threads for each kernel.
type Profiler func(batch, threads int) (*Network, *Compute, error)

// Space is a set of configurations. Empty lists have one element: the numbers of workers that the
// machines have cores for, one server, all stores, staleness 3 for dist_ssp, no compression.
type Space struct {
	Workers, Servers, Staleness, Batches []int
	Stores                               []string
	Compressions                         []compress.Method
	Machines                             Machines
	States                               int // arrays of the optimizer for each parameter
}

// counts returns numbers from 1 to n: all up to 4, then in steps of a half and a third, and n.
func counts(n int) (list []int) {
	for i := 1; i < n; {
		list = append(list, i)
		switch {
		case i < 4:
			i++
		case i&(i-1) == 0:
			i += i / 2
		default:
			i += i / 3
		}
	}
	return append(list, n)
}

// fill replaces empty lists. A store that was not measured is left out.
func (s *Space) fill(h *Host) {
	if len(s.Workers) == 0 {
		s.Workers = counts(s.Machines.Count * s.Machines.Cores)
	}
	if len(s.Servers) == 0 {
		s.Servers = counts(s.Machines.Count)
	}
	if len(s.Staleness) == 0 {
		s.Staleness = []int{3}
	}
	if len(s.Stores) == 0 {
		s.Stores = slices.DeleteFunc(Stores(), func(name string) bool {
			return name == StoreRing && h.ringError() != nil
		})
	}
	if len(s.Compressions) == 0 {
		s.Compressions = []compress.Method{{}}
	}
}

// jobs lists the configurations of one batch.
func (s *Space) jobs() (list []Job) {
	for _, store := range s.Stores {
		servers, staleness, methods := s.Servers, []int{0}, s.Compressions
		switch store {
		case StoreRing:
			servers, methods = []int{0}, []compress.Method{{}}
		case "dist_ssp":
			staleness = s.Staleness
		}
		for _, workers := range s.Workers {
			for _, n := range servers {
				for _, clocks := range staleness {
					for _, m := range methods {
						list = append(list, Job{Store: store, Workers: workers, Servers: n,
							Staleness: clocks, Compression: m, Machines: s.Machines})
					}
				}
			}
		}
	}
	return list
}

// Propose predicts all configurations of a space and sorts them: those that fit into the memory
// first, by throughput. The limits of the first so many are found, 0 for all of them.
func Propose(s Space, h *Host, profile Profiler, limits int) ([]*Prediction, error) {
	s.fill(h)
	var list []*Prediction
	works := map[*Prediction]func(){}
	for _, batch := range s.Batches {
		for _, j := range s.jobs() {
			n, c, err := profile(batch, j.Threads())
			if err != nil {
				return nil, err
			}
			p, err := predict(n, c, h, j, s.States)
			if err != nil {
				return nil, err
			}
			works[p] = func() { p.limit(n, c, h) }
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b *Prediction) int {
		if a.Fits() != b.Fits() {
			if a.Fits() {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Throughput, a.Throughput)
	})
	for i, p := range list {
		if limits == 0 || i < limits {
			works[p]()
		} else if !p.Fits() {
			p.Limit = LimitMemory
		}
	}
	return list, nil
}
