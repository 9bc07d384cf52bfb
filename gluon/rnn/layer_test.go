package rnn_test

import (
	"strings"
	"testing"

	"gomx/gluon"
	"gomx/gluon/rnn"
	"gomx/internal/nettest"
	nd "gomx/ndarray"
	"gomx/op"
)

// The limits of the memories are attributes of the exported operator, under MXNet's names. They
// change no values on processors, as in MXNet 1.9.1.
func TestClip(t *testing.T) {
	outs := map[bool][]float32{}
	for _, clip := range []bool{false, true} {
		layer := &rnn.Layer{Hidden: 3}
		if clip {
			layer.Clip = rnn.Clip{Min: nd.Some(-0.01), Max: nd.Some(0.25), NaN: true}
		}
		net := gluon.New(layer)
		if err := net.Init(nil, gluon.Seed(1)); err != nil {
			t.Fatal(err)
		}
		outs[clip] = nettest.Values(t, net.Forward(nd.Ones(nd.Shape{4, 2, 3})))
		s, err := net.Symbol(gluon.Input("data", 4, 2, 3))
		if err != nil {
			t.Fatal(err)
		}
		text, err := s.JSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"lstm_state_clip_min": "-0.01"`,
			`"lstm_state_clip_max": "0.25"`, `"lstm_state_clip_nan": "True"`} {
			if strings.Contains(string(text), want) != clip {
				t.Errorf("clip %v: symbol %s, %s wanted: %v", clip, text, want, clip)
			}
		}
	}
	nettest.SameBits(t, "clipped", outs[true], outs[false])

	var err error
	func() {
		defer op.Recover(&err)
		net := gluon.New(&rnn.Layer{Hidden: 3, Clip: rnn.Clip{Min: nd.Some(0.0)}})
		if err := net.Init(nil); err != nil {
			t.Fatal(err)
		}
		net.Forward(nd.Ones(nd.Shape{4, 2, 3}))
	}()
	if err == nil || !strings.Contains(err.Error(), "want to be given together") {
		t.Errorf("Min without Max: %v, want an error", err)
	}
}
