package ps_test

import (
	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/rows"
)

// A key of a run with sparse keys is the same array as in other runs, cut into rows of four
// elements. A worker pushes some of them in each step.

const rowElems = 4

// rowInit is how rows of some keys of runs in rounds begin.
var rowInit = rows.Init{Kind: rows.KindUniform, Scale: 3, Seed: 11}

// touches reports whether a worker pushes a row in a step. Everybody does in a run without sparse
// keys.
func (l workload) touches(rank, key, step, row int) bool {
	h := uint32(rank+3)*2654435761 ^ uint32(key+5)*40503 ^ uint32(step+7)*97 ^ uint32(row+1)*8191
	return !l.sparse || (h^h>>13)*2654435761>>16%5 < 2
}

// rowSpec describes the rows of a key.
func (l workload) rowSpec(key, workers int) *rows.Spec {
	s := &rows.Spec{Key: uint32(key), Rows: uint64(l.slices * l.elems(workers) / rowElems),
		Row: 4 * rowElems, DType: dtype.Float32}
	if l.kind == rounds && key%2 == 1 {
		s.Init = rowInit
	}
	return s
}

// firstRows is the value of a sparse key that rows.Init makes.
func (l workload) firstRows(b []byte, key, workers int) {
	s := l.rowSpec(key, workers)
	for r := range s.Rows {
		s.Init.Fill(b[r*16:(r+1)*16], s.DType, s.Key, r)
	}
}

// allRows lists all rows of a key.
func (l workload) allRows(workers int) (ids []uint64) {
	for r := range uint64(l.slices * l.elems(workers) / rowElems) {
		ids = append(ids, r)
	}
	return ids
}

// keySpec describes a sparse key for Init.
func (l workload) keySpec(key, workers int) worker.KeySpec {
	spec := worker.KeySpec{Sparse: l.rowSpec(key, workers), Direct: l.kind == single, CacheRows: 7}
	if l.kind == rounds && key%2 == 0 {
		spec.First = l.allRows(workers)
	}
	return spec
}

// pushedRows are the rows that a worker pushes, and their gradients.
func (p *program) pushedRows(key int) (ids []uint64, values []byte) {
	for r := range len(p.grads[key]) / 16 {
		g := p.grads[key][r*16 : (r+1)*16]
		some := p.load.kind == rounds && p.load.touches(p.rank, key, p.step, r)
		for _, b := range g {
			some = some || b != 0
		}
		if some {
			ids, values = append(ids, uint64(r)), append(values, g...)
		}
	}
	return ids, values
}

// pullRows pulls all rows of a key to out.
func (p *program) pullRows(key int, out []byte, until ps.Time) (uint64, error) {
	return worker.PullRows(p.w, p.sim.now, worker.RowsPull{Key: uint32(key), Out: out,
		IDs: p.load.allRows(p.sim.cfg.workers), Deadline: until})
}

// whole returns a sparse key as its primaries have it, and the version of its last slice.
func (s *sim) whole(key int) (all []byte, version uint64) {
	all = make([]byte, 4*s.cfg.load.slices*s.cfg.load.elems(s.cfg.workers))
	for sl := range s.cfg.shards {
		part, v := s.slice(key, sl)
		for i := 0; i < len(part)/16; i++ {
			copy(all[(i*s.cfg.shards+sl)*16:], part[i*16:(i+1)*16])
		}
		version = v
	}
	return all, version
}
