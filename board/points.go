package board

import (
	"slices"

	"gomx/runs"
)

// points are the values of a curve for the page. A value that is not finite is null.
type points struct {
	Step  []int64    `json:"step"`
	Time  []float64  `json:"time"` // seconds since 1970
	Value []*float64 `json:"value"`
	All   int        `json:"all"` // points of the whole curve
}

// thin returns at most about n points of a curve: of each stretch the least and the greatest value,
// and the first and the last point of all.
func thin(c *runs.Curve, n int) points {
	p := points{Step: []int64{}, Time: []float64{}, Value: []*float64{}, All: len(c.Step)}
	add := func(i int) {
		p.Step = append(p.Step, c.Step[i])
		p.Time = append(p.Time, float64(c.Time[i])/1e9)
		p.Value = append(p.Value, finite(c.Value[i]))
	}
	total := len(c.Step)
	if total <= n || n < 4 {
		for i := range total {
			add(i)
		}
		return p
	}
	add(0)
	stretches := n/2 - 1
	for k := range stretches {
		from, to := 1+k*(total-2)/stretches, 1+(k+1)*(total-2)/stretches
		if from == to {
			continue
		}
		for _, i := range extremes(c.Value, from, to) {
			add(i)
		}
	}
	add(total - 1)
	return p
}

// extremes returns the places of the least and the greatest value of a stretch and of a value that
// is not finite, in their order, each once.
func extremes(values []float64, from, to int) []int {
	least, most, gap := -1, -1, -1
	for i := from; i < to; i++ {
		v := values[i]
		switch {
		case v-v != 0:
			gap = i
			continue
		case least < 0 || v < values[least]:
			least = i
		}
		if most < 0 || v > values[most] {
			most = i
		}
	}
	list := []int{least, most, gap}
	slices.Sort(list)
	list = slices.Compact(list)
	if list[0] < 0 {
		list = list[1:]
	}
	return list
}
