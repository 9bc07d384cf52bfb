package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	"ort": {dtype.Float32}}

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
	for _, p := range c.Peers {
		if attentionPeers[p.Name] == nil {
			return fmt.Errorf("bench: suite %s has no script for peer %s, only for torch and ort",
				c.Suite, p.Name)
		}
	}
	ps, err := newPrograms()
	if err != nil {
		return err
	}
	defer ps.close()
	sessions := map[string]*session{}
	defer func() {
		for _, s := range sessions {
			s.close()
		}
	}()
	for _, p := range c.Peers {
		cmd, err := ps.of(ctx, "attention.py", p)
		if err != nil {
			return err
		}
		cmd.args = append(slices.Clone(cmd.args), p.Name, ps.dir)
		if sessions[p.Name], err = startSession(cmd, nil); err != nil {
			return err
		}
	}
	printHeader(c, "BERT-base and GPT-2 small")
	m := &transformers{dir: ps.dir}
	defer m.close()
	var all means
	for _, l := range attentionLines() {
		if !strings.Contains(l.name(), c.Match) {
			continue
		}
		w := &Workload{Name: l.name()}
		w.Unit, _ = l.unit()
		r, err := m.alternate(ctx, c, l, sessions)
		if err != nil {
			return fmt.Errorf("bench: %s: %w", w.Name, err)
		}
		r.print(c.Out, w)
		all.add(w, r)
	}
	all.print(c.Out, c.Suite)
	return nil
}

// alternate measures one line, one call of each side after the other.
func (m *transformers) alternate(ctx context.Context, c *Config, l attentionLine,
	sessions map[string]*session) (*result, error) {
	call, err := m.prepare(ctx, l)
	if err != nil {
		return nil, err
	}
	r := &result{by: map[string]float64{}}
	unit, n := l.unit()
	for round := range c.Rounds {
		start := time.Now()
		if err := call(); err != nil {
			return nil, err
		}
		v := float64(n) / time.Since(start).Seconds()
		r.ours = better(unit, r.ours, v)
		logf(c.Log, "%s round %d: gomx %.4g %s\n", l.name(), round+1, v, unit)
		for _, p := range c.Peers {
			if !slices.Contains(attentionPeers[p.Name], l.typ) {
				continue
			}
			v, err := sessions[p.Name].ask(ctx, l.name())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
			logf(c.Log, "%s round %d: %s %.4g %s\n", l.name(), round+1, p.Name, v, unit)
			r.by[p.Name] = better(unit, r.by[p.Name], v)
			if b := better(unit, r.best, v); b != r.best {
				r.best, r.bestPeer = b, p.Name
			}
		}
	}
	return r, nil
}
