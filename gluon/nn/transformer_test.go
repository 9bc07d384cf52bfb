package nn_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gomx/autograd"
	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
)

// tensor is an array of float64 for the oracle, whose last axis is a row.
type tensor struct {
	shape []int
	data  []float64
}

// oracle computes a transformer in plain loops from parameters by name.
type oracle struct {
	config nn.TransformerConfig
	params map[string]tensor
}

// dense is x·wᵀ + b over rows.
func (o *oracle) dense(name string, x tensor) tensor {
	w, b := o.params[name+".weight"], o.params[name+".bias"]
	out, in := w.shape[0], w.shape[1]
	y := tensor{[]int{x.shape[0], x.shape[1], out}, make([]float64, len(x.data)/in*out)}
	for r := range len(x.data) / in {
		for i := range out {
			sum := 0.0
			if b.data != nil {
				sum = b.data[i]
			}
			for j := range in {
				sum += w.data[i*in+j] * x.data[r*in+j]
			}
			y.data[r*out+i] = sum
		}
	}
	return y
}

// norm is the layer normalization of rows.
func (o *oracle) norm(name string, x tensor) tensor {
	gamma, beta, n := o.params[name+".gamma"], o.params[name+".beta"], x.shape[2]
	y := tensor{x.shape, make([]float64, len(x.data))}
	for r := 0; r < len(x.data); r += n {
		mean, square := 0.0, 0.0
		for _, v := range x.data[r : r+n] {
			mean += v / float64(n)
		}
		for _, v := range x.data[r : r+n] {
			square += (v - mean) * (v - mean) / float64(n)
		}
		for i, v := range x.data[r : r+n] {
			y.data[r+i] = (v-mean)/math.Sqrt(square+1e-5)*gamma.data[i] + beta.data[i]
		}
	}
	return y
}

// may reports whether step i of sequence n may read step j in a head.
type may func(n, head, i, j int) bool

// attend is attention with one exponential at a time.
func (o *oracle) attend(name string, x, memory tensor, allowed may) tensor {
	q, k, v := o.dense(name+".query", x), o.dense(name+".key", memory), o.dense(name+".value",
		memory)
	units, steps, keys := q.shape[2], q.shape[1], k.shape[1]
	size := units / o.config.Heads
	y := tensor{q.shape, make([]float64, len(q.data))}
	for n := range q.shape[0] {
		for h := range o.config.Heads {
			for i := range steps {
				at := (n*steps+i)*units + h*size
				total := 0.0
				for j := range keys {
					from := (n*keys+j)*units + h*size
					score := 0.0
					for e := range size {
						score += q.data[at+e] * k.data[from+e] / math.Sqrt(float64(size))
					}
					if !allowed(n, h, i, j) {
						continue
					}
					w := math.Exp(score)
					total += w
					for e := range size {
						y.data[at+e] += w * v.data[from+e]
					}
				}
				for e := range size {
					if total > 0 {
						y.data[at+e] /= total
					}
				}
			}
		}
	}
	return o.dense(name+".out", y)
}

func (o *oracle) feed(name string, x tensor) tensor {
	y := o.dense(name+".inner", x)
	for i, v := range y.data {
		if o.config.Activation == "gelu" {
			y.data[i] = v * (1 + math.Erf(v/math.Sqrt2)) / 2
		} else {
			y.data[i] = max(0, v)
		}
	}
	return o.dense(name+".outer", y)
}

// add is x + f(x), normalized first or last.
func (o *oracle) add(norm string, x tensor, f func(x tensor) tensor) tensor {
	in := x
	if o.config.NormFirst {
		in = o.norm(norm, x)
	}
	y := f(in)
	sum := tensor{x.shape, make([]float64, len(x.data))}
	for i := range sum.data {
		sum.data[i] = x.data[i] + y.data[i]
	}
	if o.config.NormFirst {
		return sum
	}
	return o.norm(norm, sum)
}

// encode computes depth layers of an encoder.
func (o *oracle) encode(depth int, x tensor, allowed may) tensor {
	for l := range depth {
		p := fmt.Sprintf("layers.%d.", l)
		x = o.add(p+"attention_norm", x, func(x tensor) tensor {
			return o.attend(p+"attention", x, x, allowed)
		})
		x = o.add(p+"feed_norm", x, func(x tensor) tensor { return o.feed(p+"feed_forward", x) })
	}
	return o.last(x)
}

// decode computes depth layers of a decoder.
func (o *oracle) decode(depth int, x, memory tensor, self, other may) tensor {
	for l := range depth {
		p := fmt.Sprintf("layers.%d.", l)
		x = o.add(p+"attention_norm", x, func(x tensor) tensor {
			return o.attend(p+"attention", x, x, self)
		})
		x = o.add(p+"memory_norm", x, func(x tensor) tensor {
			return o.attend(p+"memory_attention", x, memory, other)
		})
		x = o.add(p+"feed_norm", x, func(x tensor) tensor { return o.feed(p+"feed_forward", x) })
	}
	return o.last(x)
}

// last is the last normalization.
func (o *oracle) last(x tensor) tensor {
	if o.config.NormFirst {
		return o.norm("norm", x)
	}
	return x
}

// read returns an array as numbers of the oracle.
func read(t *testing.T, x *nd.Array) tensor {
	t.Helper()
	list := tensor{shape: x.Shape()}
	for _, v := range nettest.Values(t, x) {
		list.data = append(list.data, float64(v))
	}
	return list
}

// trial compares a network with a function in plain loops: its outputs line by line and compiled,
// and its gradients with differences of the function.
type trial struct {
	net  *gluon.Net
	in   []*nd.Array
	want func(params map[string]tensor, in []tensor) tensor
	seed uint64
}

// watched is the number of inputs with a gradient: the first, and memories for an odd seed. The
// parameters have the same gradients for both.
func (r trial) watched() int {
	if r.seed%2 == 1 && len(r.in) > 1 && r.in[1].Rank() == 3 {
		return 2
	}
	return 1
}

func (r trial) run(t *testing.T) {
	t.Helper()
	if err := r.net.Init(initializer.Uniform{Scale: 0.6}, gluon.Seed(r.seed)); err != nil {
		t.Fatal(err)
	}
	r.net.Call(r.in...) // finds the shapes
	params, in := map[string]tensor{}, []tensor{}
	rng := rand.New(rand.NewPCG(r.seed, 1))
	for name, p := range r.net.Params().All() {
		if strings.HasSuffix(name, "bias") || strings.HasSuffix(name, "beta") {
			p.Data().Set(nd.Uniform(-0.5, 0.5, p.Shape, nd.Seed(rng.Uint64())))
		}
		params[name] = read(t, p.Data())
	}
	for _, x := range r.in {
		in = append(in, read(t, x))
	}
	want := r.want(params, in)
	head := nd.Uniform(-1, 1, want.shape, nd.Seed(r.seed))
	weight := read(t, head).data
	sum := func() float64 {
		s := 0.0
		for i, v := range r.want(params, in).data {
			s += v * weight[i]
		}
		return s
	}
	for _, mode := range []string{"line by line", "compiled"} {
		if mode == "compiled" {
			r.net.Hybridize()
		}
		for _, x := range r.in {
			x.AttachGrad()
		}
		tape, args := autograd.Train(), slices.Clone(r.in)
		for i := range r.watched() {
			args[i] = tape.Watch(args[i])
		}
		y := r.net.Call(args...)[0]
		near(t, mode, "output", read(t, y).data, want.data, 2e-5)
		y.Mul(head).Backward()
		check := func(name string, at tensor, grad *nd.Array) {
			got := read(t, grad).data
			for range min(6, len(got)) {
				k := rng.IntN(len(got))
				old := at.data[k]
				const e = 1e-5
				at.data[k] = old + e
				up := sum()
				at.data[k] = old - e
				slope := (up - sum()) / (2 * e)
				at.data[k] = old
				near(t, mode, "gradient of "+name, got[k:k+1], []float64{slope}, 2e-4)
			}
		}
		for i := range r.watched() {
			check(fmt.Sprint("input ", i), in[i], r.in[i].Grad())
		}
		for name, p := range r.net.Params().All() {
			check(name, params[name], p.Grad())
		}
	}
}

func near(t *testing.T, mode, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %s: %d values, want %d", mode, what, len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(got[i] - want[i]); !(d <= tolerance*(1+math.Abs(want[i]))) {
			t.Errorf("%s: %s: value %d is %v, want %v", mode, what, i, got[i], want[i])
			return
		}
	}
}

func uniform(seed uint64, shape ...int) *nd.Array {
	return nd.Uniform(-1, 1, shape, nd.Seed(seed))
}

// TestMultiHeadAttention compares all kinds of masks with plain loops.
func TestMultiHeadAttention(t *testing.T) {
	const n, steps, keys, units, heads = 2, 3, 5, 4, 2
	lengths := nd.FromSlice([]float32{4, 2}, n)
	table := nd.FromSlice([]float32{1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0}, steps, keys)
	allowed := func(i, j int) bool {
		return [...]int{1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0}[i*keys+j] == 1
	}
	perHead := nd.FromSlice([]int32{1, 1, 0, 0, 1, 1, 1, 0, 0, 1}, 1, heads, 1, keys)
	cases := map[string]struct {
		opts []nn.AttentionOption
		may  may
	}{
		"all": {nil, func(_, _, _, _ int) bool { return true }},
		"valid": {[]nn.AttentionOption{nn.ValidLength(lengths)},
			func(n, _, _, j int) bool { return j < 4-2*n }},
		"causal": {[]nn.AttentionOption{nn.Causal()}, func(_, _, i, j int) bool {
			return j <= i+keys-steps
		}},
		"mask": {[]nn.AttentionOption{nn.Mask(table)}, func(_, _, i, j int) bool {
			return allowed(i, j)
		}},
		"mask of samples": {[]nn.AttentionOption{nn.Mask(table.ExpandDims(0).AsType(dtype.Bool))},
			func(_, _, i, j int) bool { return allowed(i, j) }},
		"mask of heads": {[]nn.AttentionOption{nn.Mask(perHead)}, func(_, h, _, j int) bool {
			return [...]int{1, 1, 0, 0, 1, 1, 1, 0, 0, 1}[h*keys+j] == 1
		}},
		"several": {[]nn.AttentionOption{nn.Mask(table), nn.ValidLength(lengths), nn.Causal()},
			func(n, _, i, j int) bool { return allowed(i, j) && j < 4-2*n && j <= i+keys-steps }},
	}
	seed := uint64(0)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		seed++
		t.Run(name, func(t *testing.T) {
			m := &nn.MultiHeadAttention{Units: units, Heads: heads}
			trial{gluon.Wrap(&holder{m}, func(in []*nd.Array) []*nd.Array {
				return []*nd.Array{m.Attend(in[0], in[1], c.opts...)}
			}), []*nd.Array{uniform(1, n, steps, 3), uniform(2, n, keys, 6)},
				func(params map[string]tensor, in []tensor) tensor {
					o := &oracle{nn.TransformerConfig{Heads: heads}, params}
					return o.attend("block", in[0], in[1], c.may)
				}, seed}.run(t)
		})
	}
}

// holder gives a block the name that the oracle knows.
type holder struct{ Block *nn.MultiHeadAttention }

func (h *holder) Declare() {}

func TestTransformer(t *testing.T) {
	const n, steps, keys, units = 2, 4, 3, 6
	lengths, short := nd.FromSlice([]float32{4, 3}, n), nd.FromSlice([]float32{1, 3}, n)
	valid := func(n, _, _, j int) bool { return j < 4-n }
	causal := func(n, _, i, j int) bool { return j < 4-n && j <= i }
	memory := func(n, _, _, j int) bool { return j < 1+2*n }
	for _, c := range []nn.TransformerConfig{
		{Units: units, Heads: 2, Hidden: 5},
		{Units: units, Heads: 3, Activation: "gelu", NormFirst: true},
		{Units: units, Heads: 1, Hidden: 4, NoBias: true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			e := &nn.TransformerEncoder{TransformerConfig: c, Depth: 2}
			trial{gluon.Wrap(e, func(in []*nd.Array) []*nd.Array {
				return []*nd.Array{e.Run(in[0], nn.ValidLength(in[1]))}
			}), []*nd.Array{uniform(3, n, steps, units), lengths},
				func(params map[string]tensor, in []tensor) tensor {
					return (&oracle{c, params}).encode(2, in[0], valid)
				}, 8}.run(t)
			d := &nn.TransformerDecoder{TransformerConfig: c, Depth: 2}
			trial{gluon.Wrap(d, func(in []*nd.Array) []*nd.Array {
				return []*nd.Array{d.Run(in[0], in[1], nn.ValidLength(in[2]),
					nn.MemoryLength(in[3]))}
			}), []*nd.Array{uniform(3, n, steps, units), uniform(4, n, keys, units), lengths,
				short},
				func(params map[string]tensor, in []tensor) tensor {
					return (&oracle{c, params}).decode(2, in[0], in[1], causal, memory)
				}, 9}.run(t)
		})
	}
}

// TestTransformerDropout: results differ in training, repeat with a seed, and are the same
// compiled.
func TestTransformerDropout(t *testing.T) {
	x := uniform(5, 2, 3, 4)
	run := func(hybridize bool) (train, again, predict []float64) {
		net := gluon.New(&nn.TransformerEncoder{Depth: 1, TransformerConfig: nn.TransformerConfig{
			Units: 4, Heads: 2, Dropout: 0.4}})
		if err := net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
			t.Fatal(err)
		}
		net.Forward(x)
		if hybridize {
			net.Hybridize(gluon.NoFusion())
		}
		nd.SetSeed(4)
		one := func() []float64 { return read(t, net.Forward(autograd.Train().Watch(x))).data }
		return one(), one(), read(t, net.Forward(x)).data
	}
	a, b, c := run(false)
	for i := range a {
		if a[i] == b[i] && a[i] == c[i] {
			t.Fatalf("value %d is %v with two masks and without", i, a[i])
		}
	}
	d, e, f := run(true)
	near(t, "compiled", "training", append(d, e...), append(a, b...), 0)
	near(t, "compiled", "inference", f, c, 1e-6) // eager inference is the operator Attention
}

func TestPositions(t *testing.T) {
	const n, steps, units = 2, 5, 6
	x := uniform(6, n, steps, units)
	trial{gluon.New(nn.SinusoidalPosition{}), []*nd.Array{x},
		func(_ map[string]tensor, in []tensor) tensor {
			y := tensor{in[0].shape, append([]float64{}, in[0].data...)}
			for i := range y.data {
				p, k := float64(i/units%steps), i%units
				angle := p / math.Pow(10000, float64(k/2*2)/units)
				y.data[i] += []float64{math.Sin(angle), math.Cos(angle)}[k%2]
			}
			return y
		}, 2}.run(t)
	trial{gluon.New(&nn.LearnedPosition{Steps: 8}), []*nd.Array{x},
		func(params map[string]tensor, in []tensor) tensor {
			y := tensor{in[0].shape, append([]float64{}, in[0].data...)}
			for i := range y.data {
				y.data[i] += params["weight"].data[i%(steps*units)]
			}
			return y
		}, 3}.run(t)
}

func TestAttentionMisuse(t *testing.T) {
	for want, f := range map[string]func(){
		"want a positive multiple of 3 heads": func() {
			gluon.New(&nn.MultiHeadAttention{Units: 4, Heads: 3}).Forward(uniform(1, 1, 2, 4))
		},
		"want (n, steps, size)": func() {
			gluon.New(&nn.MultiHeadAttention{Units: 4}).Forward(uniform(1, 2, 4))
		},
		"at most 3 steps": func() {
			gluon.New(&nn.LearnedPosition{Steps: 3}).Forward(uniform(1, 1, 4, 2))
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
}
