package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gomx/checkpoint"
	"gomx/checkpoint/npy"
	"gomx/dtype"
	"gomx/gluon"
	"gomx/gluon/generate"
	"gomx/gluon/zoo"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// Sizes of the suite attention, the same as in peers/attention.py.
const (
	attentionPrompt = 512 // words of a prompt
	attentionWords  = 16  // words of one call of the line decode, behind the prompt
	attentionRoom   = 560 // capacity of the cache
)

// attentionPeers are the peers of the suite with the types that they compute in.
var attentionPeers = map[string][]dtype.Type{"torch": {dtype.Float32, dtype.BFloat16},
	"ort": {dtype.Float32}, "openvino": {dtype.Float32, dtype.BFloat16}}

// attentionLine is one line of the suite: BERT-base or GPT-2 small in a type.
type attentionLine struct {
	mode         string // bert, prefill or decode
	steps, batch int
	typ          dtype.Type
}

func (l attentionLine) name() string {
	return fmt.Sprintf("attention.%s.%d.bs%d.%v", l.mode, l.steps, l.batch, l.typ)
}

// unit returns the unit, and the number of it in a call.
func (l attentionLine) unit() (string, int) {
	switch l.mode {
	case "bert":
		return "sequences/s", l.batch
	case "decode":
		return "words/s", attentionWords
	}
	return "words/s", l.steps
}

// attentionLines lists the lines, those of one network and type behind each other.
func attentionLines() (list []attentionLine) {
	for _, t := range []dtype.Type{dtype.Float32, dtype.BFloat16} {
		for _, steps := range []int{128, 512} {
			for _, batch := range []int{1, 8} {
				list = append(list, attentionLine{"bert", steps, batch, t})
			}
		}
		list = append(list, attentionLine{"prefill", attentionPrompt, 1, t},
			attentionLine{"decode", attentionPrompt, 1, t})
	}
	return list
}

// transformers are the networks of the suite, one at a time, and the folder that peers read.
type transformers struct {
	dir     string
	kind    string // of the network, or empty
	typ     dtype.Type
	net     *gluon.Net
	gpt     *zoo.GPT2
	decoder generate.Decoder
}

// of makes the network of a line. The weights of a kind, float32, are written for the peers.
func (m *transformers) of(l attentionLine) error {
	kind := "gpt2"
	if l.mode == "bert" {
		kind = "bert"
	}
	if m.kind == kind && m.typ == l.typ {
		return nil
	}
	m.close()
	m.kind, m.typ = kind, l.typ
	if kind == "bert" {
		m.net = zoo.NewBERT(zoo.BERTConfig{NoTokenTypes: true, NoPooler: true, NoDecoder: true}).Net()
	} else {
		m.gpt = zoo.NewGPT2(zoo.GPT2Small())
		m.net = gluon.New(m.gpt)
	}
	if err := m.net.Init(initializer.Xavier{}, gluon.Seed(1)); err != nil {
		return err
	}
	path := filepath.Join(m.dir, kind+".npz")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		var list []checkpoint.Named
		for name, p := range m.net.Params().All() {
			list = append(list, checkpoint.Named{Name: name, Array: p.Data()})
		}
		if err := npy.SaveZip(path, list); err != nil {
			return err
		}
	}
	m.net.Params().Cast(l.typ)
	m.net.Hybridize()
	return nil
}

func (m *transformers) close() {
	if m.decoder != nil {
		m.decoder.Close()
	}
	*m = transformers{dir: m.dir}
	trim()
}

// prepare writes words and output of a line for the peers, and returns a call.
func (m *transformers) prepare(ctx context.Context, l attentionLine) (func() error, error) {
	if err := m.of(l); err != nil {
		return nil, err
	}
	steps := l.steps
	if l.mode == "decode" {
		steps += attentionWords
	}
	words := nd.Uniform(0, 30000, nd.Shape{l.batch, steps}, nd.Seed(3)).AsType(dtype.Int32)
	var output *nd.Array
	read := func(y *nd.Array) error {
		if output != nil {
			output.Close()
		}
		output = y
		return y.Wait(ctx)
	}
	next := func(from, to int) error {
		at := func(k int) *nd.Array { return nd.Full(float64(k), nd.Shape{1}, nd.As(dtype.Int32)) }
		return read(m.decoder.Next(words.SliceAxis(1, from, to), at(from), at(to-from-1)))
	}
	var call func() error
	switch l.mode {
	case "bert":
		call = func() error { return read(m.net.Call(words)[0]) }
	case "prefill":
		call = func() error { return next(0, l.steps) }
	case "decode":
		call = func() error {
			for i := range attentionWords {
				if err := next(l.steps+i, l.steps+i+1); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if l.mode != "bert" {
		if m.decoder == nil {
			var err error
			if m.decoder, err = m.gpt.Decoder(1, attentionRoom); err != nil {
				return nil, err
			}
		}
		if err := next(0, l.steps); err != nil {
			return nil, err
		}
	}
	if err := call(); err != nil {
		return nil, err
	}
	return call, npy.SaveZip(filepath.Join(m.dir, l.name()+".npz"), []checkpoint.Named{
		{Name: "words", Array: words}, {Name: "output", Array: output.AsType(dtype.Float32)}})
}

// runAttention measures transformers in gomx and in the peers, call by call in turn. Each peer first
// compares its outputs with those of gomx.
func runAttention(ctx context.Context, c *Config) error {
	t, err := startTurns(ctx, c, "attention.py", slices.Sorted(maps.Keys(attentionPeers)), nil)
	if err != nil {
		return err
	}
	defer t.close()
	printHeader(c, "BERT-base and GPT-2 small")
	m := &transformers{dir: t.ps.dir}
	defer m.close()
	for _, l := range attentionLines() {
		if !strings.Contains(l.name(), c.Match) {
			continue
		}
		run, err := m.prepare(ctx, l)
		if err == nil {
			t.has = func(peer, _ string) bool { return slices.Contains(attentionPeers[peer], l.typ) }
			unit, n := l.unit()
			err = t.measure(ctx, call{l.name(), unit, n, run})
		}
		if err != nil {
			return fmt.Errorf("bench: %s: %w", l.name(), err)
		}
	}
	t.all.print(c.Out, c.Suite)
	return nil
}
