package nn_test

import (
	"testing"

	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
)

// Self-attention that reads a sequence in parts gives the rows of causal attention over all of it.
func TestDecodeEqualsCausalAttention(t *testing.T) {
	m := &nn.MultiHeadAttention{Units: 12, Heads: 3}
	if err := gluon.New(m).Init(initializer.Normal{Sigma: 0.5}, gluon.Seed(3)); err != nil {
		t.Fatal(err)
	}
	x := nd.Normal(0, 1, nd.Shape{2, 9, 12}, nd.Seed(5))
	want := m.Attend(x, x, nn.Causal())
	c := nn.NewKVCache(2, 9, 12)
	defer c.Close()
	for _, cut := range [][2]int{{0, 4}, {4, 5}, {5, 6}, {6, 9}} {
		position := nd.Full(float64(cut[0]), nd.Shape{2}, nd.As(dtype.Int32))
		y := m.Decode(x.SliceAxis(1, cut[0], cut[1]), position, c)
		nettest.Near(t, "steps", nettest.Values(t, y),
			nettest.Values(t, want.SliceAxis(1, cut[0], cut[1])))
	}
}
