package loss

import (
	"math"

	"gomx/op"
	"gomx/op/loop"
)

// sequence is one sample of CTCLoss: the probabilities p of all classes at each step, and its
// labels with blanks between and around them.
type sequence struct {
	steps, classes int
	p              []float64
	spelled        []int
}

func ctcRef(p CTCLossParams, c *op.Call) error {
	shape := c.In[0].Shape
	steps, batch, n := shape[0], shape[1], shape[2]
	x, label := loop.Floats(c.In[0]), loop.Floats(c.In[1])
	classes{steps * batch, n, 1}.softmax(x)
	width := c.In[1].Shape[1]
	losses, dx := make([]float64, batch), make([]float64, len(x))
	for b := range batch {
		s, err := newSequence(p, c, b, label[b*width:(b+1)*width])
		if err != nil {
			return err
		}
		for t := range s.steps {
			copy(s.p[t*n:], x[(t*batch+b)*n:][:n])
		}
		loss, grad := s.loss()
		losses[b] = loss
		for i, g := range grad {
			dx[(i/n*batch+b)*n+i%n] = g
		}
	}
	for i, v := range [][]float64{losses, dx} {
		if c.Out[i].Data != nil {
			loop.Store(c.Out[i], 0, v)
		}
	}
	return nil
}

// newSequence reads the lengths and labels of sample b.
func newSequence(p CTCLossParams, c *op.Call, b int, label []float64) (*sequence, error) {
	s := &sequence{steps: c.In[0].Shape[0], classes: c.In[0].Shape[2]}
	lengths := c.In[2:]
	if p.UseDataLengths {
		s.steps = min(max(int(loop.Floats(lengths[0])[b]), 0), s.steps)
		lengths = lengths[1:]
	}
	blank, padding := 0, 0.0
	if p.BlankLabel == "last" {
		blank, padding = s.classes-1, -1
	}
	count := 0
	if p.UseLabelLengths {
		count = min(max(int(loop.Floats(lengths[0])[b]), 0), len(label))
	} else {
		for count < len(label) && label[count] != padding {
			count++
		}
	}
	s.p = make([]float64, s.steps*s.classes)
	s.spelled = append(s.spelled, blank)
	for _, l := range label[:count] {
		if k := int(l); k < 0 || k >= s.classes {
			return nil, op.Errorf("label", "%v in sample %d, want a class below %d", l, b,
				s.classes)
		}
		s.spelled = append(s.spelled, int(l), blank)
	}
	return s, nil
}

// fits reports whether the steps suffice for the labels: equal neighbours need a blank between
// them.
func (s *sequence) fits() bool {
	need := len(s.spelled) / 2
	for i := 3; i < len(s.spelled); i += 2 {
		if s.spelled[i] == s.spelled[i-2] {
			need++
		}
	}
	return s.steps > 0 && need <= s.steps
}

// skips reports whether a path may go from position k-2 to k without the blank between them.
func (s *sequence) skips(k int) bool { return k >= 2 && k%2 == 1 && s.spelled[k] != s.spelled[k-2] }

// loss returns the negative log probability of the labels and its derivative by the inputs of the
// softmax, by the forward-backward algorithm on logarithms.
func (s *sequence) loss() (float64, []float64) {
	if !s.fits() {
		return 0, nil
	}
	width, last := len(s.spelled), s.steps-1
	alpha, beta := s.forward(), s.backward()
	total := alpha[last*width+width-1]
	if width > 1 {
		total = logSum(total, alpha[last*width+width-2])
	}
	grad := make([]float64, len(s.p))
	copy(grad, s.p)
	for t := range s.steps {
		for k, class := range s.spelled {
			grad[t*s.classes+class] -= math.Exp(alpha[t*width+k] + beta[t*width+k] - total)
		}
	}
	return -total, grad
}

// forward returns, per step and position, the log probability of all paths from the first step up
// to there.
func (s *sequence) forward() []float64 {
	width := len(s.spelled)
	a := make([]float64, s.steps*width)
	for t := range s.steps {
		for k, class := range s.spelled {
			from := math.Inf(-1)
			switch {
			case t == 0 && k < 2:
				from = 0
			case t > 0:
				from = a[(t-1)*width+k]
				if k > 0 {
					from = logSum(from, a[(t-1)*width+k-1])
				}
				if s.skips(k) {
					from = logSum(from, a[(t-1)*width+k-2])
				}
			}
			a[t*width+k] = from + math.Log(s.p[t*s.classes+class])
		}
	}
	return a
}

// backward returns, per step and position, the log probability of all paths after it.
func (s *sequence) backward() []float64 {
	width := len(s.spelled)
	b := make([]float64, s.steps*width)
	for t := s.steps - 1; t >= 0; t-- {
		for k := range s.spelled {
			to := math.Inf(-1)
			if t == s.steps-1 && k >= width-2 {
				to = 0
			}
			for j := k; t < s.steps-1 && j < min(k+3, width); j++ {
				if j < k+2 || s.skips(j) {
					to = logSum(to, b[(t+1)*width+j]+math.Log(s.p[(t+1)*s.classes+s.spelled[j]]))
				}
			}
			b[t*width+k] = to
		}
	}
	return b
}

// logSum returns log(exp(a) + exp(b)).
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(a, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
