package embed

import (
	"cmp"
	"slices"

	nd "gomx/ndarray"
)

// rowLengths are the lengths of rows, in tokens.
var rowLengths = []int{16, 32, 64, 128, 256, 512}

const (
	usualLength = 64   // of rows for sentences that fit and do not fill one alone
	batchTokens = 1024 // most tokens of a batch
)

// A batch is a number of rows of one length, and the places of sentences in them.
type batch struct {
	rows, length int
	places       []place
}

// A place is the part of a row that a sentence has.
type place struct {
	sentence int // number of the sentence
	row, at  int // row, and first token in it
	number   int // of the sentence in its row
}

// pack puts sentences into batches: longest first, each into the first row with room (first fit
// decreasing). A batch has rows of the least length that takes its longest sentence.
func pack(ids [][]int) []batch {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(len(ids[j]), len(ids[i]))
	})
	left := 0
	for _, s := range ids {
		left += len(s)
	}
	var out []batch
	for len(order) > 0 {
		b := batch{length: rowLength(len(ids[order[0]]), left)}
		order = b.fill(ids, order)
		for _, p := range b.places {
			left -= len(ids[p.sentence])
		}
		out = append(out, b)
	}
	return out
}

// rowLength returns the length of rows for a longest sentence, where all that are left have left
// tokens.
func rowLength(longest, left int) int {
	want := max(longest, min(left, usualLength))
	for _, n := range rowLengths {
		if n >= want {
			return n
		}
	}
	return rowLengths[len(rowLengths)-1]
}

// fill puts sentences of order into rows and returns the others. The number of rows is a power of
// two, so that few shapes are compiled.
func (b *batch) fill(ids [][]int, order []int) (rest []int) {
	most := max(1, batchTokens/b.length)
	var used, count []int // by row
	for _, s := range order {
		n := len(ids[s])
		row := slices.IndexFunc(used, func(u int) bool { return u+n <= b.length })
		for row >= 0 && count[row] == b.length/2 { // sentences of one token
			next := slices.IndexFunc(used[row+1:], func(u int) bool { return u+n <= b.length })
			if next < 0 {
				row = -1
				break
			}
			row += 1 + next
		}
		if row < 0 {
			if len(used) == most {
				rest = append(rest, s)
				continue
			}
			row, used, count = len(used), append(used, 0), append(count, 0)
		}
		b.places = append(b.places, place{s, row, used[row], count[row]})
		used[row] += n
		count[row]++
	}
	for b.rows = 1; b.rows < len(used); b.rows *= 2 {
	}
	return rest
}

// arrays returns the inputs of the network for a batch. Tokens that no sentence has are a group of
// their own, which no embedding reads.
func (b *batch) arrays(ids [][]int, first bool) (words, positions, groups, pool *nd.Array) {
	n, half := b.rows*b.length, b.length/2
	w, p, g := make([]int32, n), make([]int32, n), make([]int32, n)
	for i := range g {
		g[i] = -1
	}
	weights := make([]float32, b.rows*half*b.length)
	for _, x := range b.places {
		s := ids[x.sentence]
		row := weights[(x.row*half+x.number)*b.length+x.at:]
		for i, id := range s {
			at := x.row*b.length + x.at + i
			w[at], p[at], g[at] = int32(id), int32(i), int32(x.number)
			switch {
			case !first:
				row[i] = 1 / float32(len(s))
			case i == 0:
				row[i] = 1
			}
		}
	}
	return nd.FromSlice(w, b.rows, b.length), nd.FromSlice(p, b.rows, b.length),
		nd.FromSlice(g, b.rows, b.length), nd.FromSlice(weights, b.rows, half, b.length)
}
