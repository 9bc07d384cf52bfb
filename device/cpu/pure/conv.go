package pure

// ConvSpec describes a convolution over one to three spatial axes. Data has shape (Batch,
// InChannels, In...), weights (OutChannels, InChannels/Groups, Kernel...).
type ConvSpec struct {
	Batch, InChannels, OutChannels, Groups int
	In, Out, Kernel, Stride, Dilate, Pad   []int
	Threads                                int
}

// Conv is a prepared convolution.
type Conv struct {
	batch, groups, threads       int
	ic, oc, taps                 int // channels in and out, and elements of the kernel, per group
	in, out, kernel, stride, pad [3]int
	dilate                       [3]int
	vin, vout                    int // elements of one channel of the input and the output
}

// NewConv prepares a convolution.
func NewConv(s ConvSpec) *Conv {
	k := &Conv{batch: s.Batch, groups: s.Groups, threads: max(s.Threads, 1), ic: s.InChannels /
		s.Groups, oc: s.OutChannels / s.Groups,
		in: lead(s.In, 1), out: lead(s.Out, 1), kernel: lead(s.Kernel, 1), stride: lead(s.Stride,
			1), dilate: lead(s.Dilate, 1), pad: lead(s.Pad, 0)}
	k.taps, k.vin, k.vout = volume(k.kernel), volume(k.in), volume(k.out)
	return k
}

// lead returns list with leading elements fill added up to three numbers.
func lead(list []int, fill int) [3]int {
	a := [3]int{fill, fill, fill}
	copy(a[3-len(list):], list)
	return a
}

func volume(a [3]int) int { return a[0] * a[1] * a[2] }

// columns returns the number of elements of the columns of one group of one image.
func (k *Conv) columns() int { return k.ic * k.taps * k.vout }

// weights returns the number of elements of the weights of one group.
func (k *Conv) weights() int { return k.oc * k.ic * k.taps }

// Scratch returns the number of elements of working space that Run needs.
func (k *Conv) Scratch() int { return k.threads * k.columns() }

// ScratchGrad returns the number of elements of working space that RunGrad needs.
func (k *Conv) ScratchGrad() int { return k.threads * (k.columns() + k.groups*k.weights()) }

// each calls f, for one channel and element tap of the kernel, for every row of outputs whose tap
// lies in the input: n outputs from index out on read the input from index in on, a stride apart.
func (k *Conv) each(tap int, f func(out, in, n int)) {
	kd, kh, kw := tap/k.kernel[2]/k.kernel[1], tap/k.kernel[2]%k.kernel[1], tap%k.kernel[2]
	w0, w1 := k.span(2, kw)
	if w0 >= w1 {
		return
	}
	for d := range k.out[0] {
		id := d*k.stride[0] - k.pad[0] + kd*k.dilate[0]
		if id < 0 || id >= k.in[0] {
			continue
		}
		for h := range k.out[1] {
			ih := h*k.stride[1] - k.pad[1] + kh*k.dilate[1]
			if ih >= 0 && ih < k.in[1] {
				iw := w0*k.stride[2] - k.pad[2] + kw*k.dilate[2]
				f((d*k.out[1]+h)*k.out[2]+w0, (id*k.in[1]+ih)*k.in[2]+iw, w1-w0)
			}
		}
	}
}

// span returns the range of outputs along axis a that read inside the input at kernel element e.
func (k *Conv) span(a, e int) (lo, hi int) {
	shift, s := e*k.dilate[a]-k.pad[a], k.stride[a]
	hi = k.out[a]
	if shift < 0 {
		lo = (-shift + s - 1) / s
	}
	if last := k.in[a] - 1 - shift; last < 0 {
		hi = 0
	} else {
		hi = min(hi, last/s+1)
	}
	return lo, hi
}

// unfold writes the columns of x, the channels of one group: row (channel, tap) holds the values
// that the tap reads at every output.
func (k *Conv) unfold(col, x []float32) {
	clear(col)
	s := k.stride[2]
	for c := range k.ic {
		plane := x[c*k.vin : (c+1)*k.vin]
		for t := range k.taps {
			row := col[(c*k.taps+t)*k.vout:][:k.vout]
			k.each(t, func(out, in, n int) {
				if s == 1 {
					copy(row[out:out+n], plane[in:])
					return
				}
				for i := range n {
					row[out+i] = plane[in+i*s]
				}
			})
		}
	}
}

// fold adds the columns to the elements from which unfold read them.
func (k *Conv) fold(x, col []float32) {
	clear(x)
	s := k.stride[2]
	for c := range k.ic {
		plane := x[c*k.vin : (c+1)*k.vin]
		for t := range k.taps {
			row := col[(c*k.taps+t)*k.vout:][:k.vout]
			k.each(t, func(out, in, n int) {
				for i := range n {
					plane[in+i*s] += row[out+i]
				}
			})
		}
	}
}

// Run convolves x with w; bias may be nil.
func (k *Conv) Run(y, x, w, bias, scratch []float32) {
	Parallel(k.threads, k.batch, func(part, begin, end int) {
		col := scratch[part*k.columns():][:k.columns()]
		for i := begin * k.groups; i < end*k.groups; i++ {
			g := i % k.groups
			out := y[i*k.oc*k.vout:][:k.oc*k.vout]
			for c := range k.oc {
				v := float32(0)
				if bias != nil {
					v = bias[g*k.oc+c]
				}
				fill(out[c*k.vout:(c+1)*k.vout], v)
			}
			k.unfold(col, x[i*k.ic*k.vin:][:k.ic*k.vin])
			Gemm{M: k.oc, N: k.vout, K: k.ic * k.taps, Alpha: 1, Beta: 1}.Run(out,
				w[g*k.weights():], col)
		}
	})
}

func fill(d []float32, v float32) {
	for i := range d {
		d[i] = v
	}
}

// ConvGrads holds the operands of RunGrad. DX, DW and DBias are outputs and may be nil.
type ConvGrads struct{ DX, DW, DBias, DY, X, W []float32 }

// RunGrad computes the gradients that are not nil.
func (k *Conv) RunGrad(o ConvGrads, scratch []float32) {
	parts := scratch[k.threads*k.columns():]
	size, used := k.groups*k.weights(), min(k.threads, max(k.batch, 1))
	clear(parts[:used*size])
	Parallel(k.threads, k.batch, func(part, begin, end int) {
		col, sum := scratch[part*k.columns():][:k.columns()], parts[part*size:][:size]
		for i := begin * k.groups; i < end*k.groups; i++ {
			g := i % k.groups
			dy := o.DY[i*k.oc*k.vout:][:k.oc*k.vout]
			if o.DW != nil {
				k.unfold(col, o.X[i*k.ic*k.vin:][:k.ic*k.vin])
				Gemm{M: k.oc, N: k.ic * k.taps, K: k.vout, TransB: true, Alpha: 1,
					Beta: 1}.Run(sum[g*k.weights():][:k.weights()], dy, col)
			}
			if o.DX != nil {
				Gemm{M: k.ic * k.taps, N: k.vout, K: k.oc, TransA: true, Alpha: 1}.Run(col,
					o.W[g*k.weights():][:k.weights()], dy)
				k.fold(o.DX[i*k.ic*k.vin:][:k.ic*k.vin], col)
			}
		}
	})
	if o.DW != nil {
		SumRows(o.DW, parts[:used*size])
	}
	if o.DBias != nil {
		k.sumChannels(o.DBias, o.DY)
	}
}

// sumChannels sums dy over images and positions.
func (k *Conv) sumChannels(d, dy []float32) {
	clear(d)
	for i := range k.batch * len(d) {
		s := float32(0)
		for _, v := range dy[i*k.vout : (i+1)*k.vout] {
			s += v
		}
		d[i%len(d)] += s
	}
}
