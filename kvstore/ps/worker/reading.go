package worker

import (
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// reading is a read of rows of a sparse key: those that the worker has kept are given at once, the
// others are asked for, slice by slice.
type reading struct {
	ks    *keyset
	key   *workerKey
	out   []byte
	wants []wanted
}

// wanted is a row that is wanted, and its place in out, in rows.
type wanted struct {
	id    uint64
	place uint32
}

// again marks the place of a row that has another place in front of it.
const again = 1 << 31

// add wants a row. Rows are added in ascending order, or sorted then.
func (r *reading) add(id uint64, place uint32) { r.wants = append(r.wants, wanted{id, place}) }

// sort brings rows into ascending order.
func (r *reading) sort() {
	slices.SortStableFunc(r.wants, func(a, b wanted) int {
		switch {
		case a.id < b.id:
			return -1
		case a.id > b.id:
			return 1
		}
		return 0
	})
}

// begin begins the call. It ends at once, with identifier 0, when all rows are at hand.
func (r *reading) begin(now ps.Time, what string, prio int8, deadline ps.Time) (uint64, error) {
	k, n := r.key, uint64(len(r.key.slices))
	row := k.sparse.Spec.Row
	needs := make([]uint64, n)
	for i, sl := range k.slices {
		ask := part{}
		ask.slice = sl
		r.ks.wantRows(&ask)
		needs[i] = ask.need
	}
	lists := make([][]wanted, n)
	for i := range lists {
		lists[i] = make([]wanted, 0, uint64(len(r.wants))/n+uint64(len(r.wants))/8)
	}
	for _, w := range r.wants {
		if data, ok := k.sparse.cache.find(w.id, needs[w.id%n]); ok {
			k.sparse.give(r.out[int(w.place)*row:(int(w.place)+1)*row], w.id, data)
			continue
		}
		lists[w.id%n] = append(lists[w.id%n], w)
	}
	var c *call
	var parts []*part
	for i, list := range lists {
		for len(list) > 0 {
			if c == nil {
				c = r.ks.newCall(now, what, k.key, deadline)
			}
			var p *part
			p, list = r.part(c, k.slices[i], list)
			p.prio = prio
			parts = append(parts, p)
		}
	}
	if c == nil {
		return 0, nil
	}
	// The call has all its parts before the first of them may end.
	for _, p := range parts {
		r.ks.ask(p)
	}
	return c.id, nil
}

// part makes a part that asks for the first rows of a list, as many as one message may have, and
// returns the other ones.
func (r *reading) part(c *call, sl *slice, list []wanted) (*part, []wanted) {
	n := uint64(len(r.key.slices))
	p := r.ks.newPart(c, wire.TypePull, sl.shard)
	p.slice, p.flags, p.out, p.kept = sl, wire.FlagRows, r.out, true
	ids := make([]uint32, 0, len(list))
	p.index = slices.Grow(p.index, len(list))
	most := max(1, node.RowsLimit/r.key.sparse.Spec.Row) // rows of a message
	for ; len(list) > 0; list = list[1:] {
		place, id := list[0].place, uint32(list[0].id/n)
		if len(ids) > 0 && ids[len(ids)-1] == id {
			place |= again
		} else if len(ids) < most {
			ids = append(ids, id)
		} else {
			break
		}
		p.index = append(p.index, place)
	}
	p.payload = wire.AppendIDs(make([]byte, 0, 16+3*len(ids)), ids)
	r.ks.wantRows(p)
	return p, list
}
