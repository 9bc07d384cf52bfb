//go:build cgo

package cpu_test

import (
	"fmt"
	"testing"

	"gomx/device/cpu"
)

// TestPReLU compares both passes, in every layout, with the sums written down.
func TestPReLU(t *testing.T) {
	r := rng(t)
	for _, c := range []int{1, 3, 10, 16, 48} {
		for _, pixels := range []int{1, 7, 1500} {
			for _, l := range layoutsFor(c) {
				for _, single := range []bool{false, true} {
					what := fmt.Sprintf("%d channels, %d pixels, layout %d, single %v", c, pixels,
						l, single)
					shape := []int{2, c, pixels, 1}
					x, dy, slopes := random(r, volume(shape)), random(r, volume(shape)),
						random(r, c)
					y, dx, ds := make([]float64, len(x.v)), make([]float64, len(x.v)),
						make([]float64, c)
					for i, v := range x.v {
						k := i / pixels % c
						if single {
							k = 0
						}
						y[i], dx[i] = float64(v), float64(dy.v[i])
						if v <= 0 {
							y[i] *= float64(slopes.v[k])
							dx[i] *= float64(slopes.v[k])
							ds[k] += float64(dy.v[i]) * float64(v)
						}
					}
					k := cpu.NewPReLU(shape, l, single, 2)
					got := arrange(l, shape, x) // in place
					k.Run(got.ptr(), got.ptr(), slopes.ptr())
					near(t, what+": y", plainOf(l, shape, got.v), y, 1e-6)
					got.intact(t, what)
					if l == cpu.LayoutLast {
						continue
					}
					gx, gs := arrange(l, shape, dy), newGuarded(c)
					k.RunGrad(gx.ptr(), gs.ptr(), gx.ptr(), arrange(l, shape, x).ptr(),
						slopes.ptr())
					near(t, what+": dx", plainOf(l, shape, gx.v), dx, 1e-6)
					used := c
					if single {
						used = 1
					}
					near(t, what+": slopes", gs.v[:used], ds[:used], 1e-3)
					gx.intact(t, what)
					gs.intact(t, what)
				}
			}
		}
	}
}
