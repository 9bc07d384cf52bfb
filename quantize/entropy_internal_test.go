package quantize

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gomx/checkpoint"
	nd "gomx/ndarray"
)

// drawings are sets of numbers as layers see them: each function draws one number of a batch.
var drawings = map[string]func(r *rand.Rand, batch int) float64{
	"normal": func(r *rand.Rand, _ int) float64 { return r.NormFloat64() },
	"growing": func(r *rand.Rand, batch int) float64 {
		return r.NormFloat64() * math.Pow(1.7, float64(batch))
	},
	"relu": func(r *rand.Rand, _ int) float64 { return max(0, r.NormFloat64()-0.3) },
	"pixels": func(r *rand.Rand, _ int) float64 {
		if r.Float64() < 0.5 {
			return 0
		}
		return float64(r.IntN(256)) / 255
	},
	"tails": func(r *rand.Rand, _ int) float64 {
		return math.Exp(1.4*r.NormFloat64()) * math.Copysign(1, r.Float64()-0.5)
	},
	"positive tails": func(r *rand.Rand, _ int) float64 { return math.Exp(1.4 * r.NormFloat64()) },
	"shifted":        func(r *rand.Rand, _ int) float64 { return 5 + r.NormFloat64() },
}

// TestEntropyInMXNet compares thresholds with the thresholds that MXNet's calibration finds in the
// same batches.
func TestEntropyInMXNet(t *testing.T) {
	python := flag.Lookup("mxnet").Value.String()
	if python == "" {
		t.Skip("-mxnet names no Python with MXNet 1.9.1")
	}
	arrays, got := map[string]*nd.Array{}, map[string]float64{}
	for name, draw := range drawings {
		r, s := rand.New(rand.NewPCG(3, uint64(len(name)))), stats{counted: true}
		for batch := range 3 {
			x := make([]float32, 20000)
			for i := range x {
				x[i] = float32(draw(r, batch))
			}
			s.add(x)
			arrays[fmt.Sprintf("%s.%d", name, batch)] = nd.FromSlice(x, len(x))
		}
		limit, err := s.entropy(s.low >= 0)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = limit
	}
	path := filepath.Join(t.TempDir(), "numbers.params")
	if err := checkpoint.SaveMap(path, arrays); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "entropy.py"),
		path).Output()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		want, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		found++
		if name := line[:i]; math.Abs(got[name]-want) > 1e-5*want {
			t.Errorf("%s: threshold %v, MXNet's is %v", name, got[name], want)
		} else {
			t.Logf("%s: threshold %v", name, want)
		}
	}
	if found != len(drawings) {
		t.Errorf("MXNet found %d thresholds, want %d", found, len(drawings))
	}
}
