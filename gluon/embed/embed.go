package embed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"gomx/checkpoint"
	"gomx/gluon"
	"gomx/gluon/zoo"
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/predict"
	"gomx/tokenizer"
)

// Model makes embeddings of sentences.
type Model struct {
	style
	units int // of an embedding
	words *tokenizer.Tokenizer
	p     *predict.Predictor
}

// Load reads a model from a folder. The options On, InFlight and Precision of package predict are
// those of the network; bfloat16 makes embeddings that differ in the third digit.
func Load(dir string, opts ...predict.Option) (m *Model, err error) {
	defer op.Recover(&err)
	m = new(Model)
	if m.style, err = readStyle(dir); err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	net, _, err := zoo.LoadBERT(dir)
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	rows, units := net.Encoder.PositionWeight.Shape[0], net.Encoder.PositionWeight.Shape[1]
	m.units = units
	if m.most == 0 || m.most > rows {
		m.most = rows
	}
	m.most = min(m.most, rowLengths[len(rowLengths)-1])
	words, err := tokenizer.Load(filepath.Join(dir, "tokenizer.json"))
	if err == nil {
		m.words, err = words.With(tokenizer.MaxLength(m.most), tokenizer.PadTo(0))
	}
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	model, err := graph(net)
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	n, length := 1, rowLengths[0]
	opts = append(opts, predict.Input("words", n, length), predict.Input("positions", n, length),
		predict.Input("groups", n, length), predict.Input("pool", n, length/2, length))
	if m.p, err = predict.New(model, opts...); err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	return m, nil
}

// graph returns the network as a symbol. Its inputs have the shape (n, length): the numbers of
// words, their positions in their sentences, and the number of the sentence in the row; and the
// shape (n, sentences, length): the weights of outputs in embeddings.
func graph(net *zoo.BERT) (*checkpoint.Model, error) {
	n, length := 1, rowLengths[0]
	whole := gluon.Wrap(net, func(in []*nd.Array) []*nd.Array {
		words, positions, groups, pool := in[0], in[1], in[2], in[3]
		x := zoo.BERTInput{Words: words, Positions: positions,
			Mask: nd.BroadcastEqual(groups.ExpandDims(2), groups.ExpandDims(1))}
		if net.TokenTypeEmbed != nil {
			x.TokenTypes = nd.ZerosLike(words)
		}
		return []*nd.Array{nd.BatchDot(pool, net.Run(x).Steps, nd.DotParams{})}
	})
	net.Pooler, net.Classifier = nil, nil
	s, err := whole.Symbol(gluon.Input("words", n, length), gluon.Input("positions", n, length),
		gluon.Input("groups", n, length), gluon.Input("pool", n, length/2, length))
	if err != nil {
		return nil, err
	}
	args := map[string]*nd.Array{}
	for _, p := range whole.Params().All() {
		args[p.Name()] = p.Data()
	}
	model := &checkpoint.Model{Symbol: s, Args: map[string]*nd.Array{}}
	for _, name := range s.Arguments() {
		if a := args[name]; a != nil {
			model.Args[name] = a
		}
	}
	return model, nil
}

// Units is the number of elements of an embedding.
func (m *Model) Units() int { return m.units }

// Embed returns the embeddings of sentences, Units elements each, in their order. The empty
// sentence has one too.
func (m *Model) Embed(ctx context.Context, sentences ...string) (vectors [][]float32, err error) {
	defer op.Recover(&err)
	if m == nil || m.p == nil {
		return nil, errors.New("embed: Embed of a model that is nil")
	}
	ids := make([][]int, len(sentences))
	for i, s := range sentences {
		if ids[i] = m.words.Encode(s).IDs; len(ids[i]) == 0 {
			return nil, fmt.Errorf("embed: sentence %d has no tokens", i)
		}
	}
	vectors = make([][]float32, len(sentences))
	for _, b := range pack(ids) {
		if err := m.run(ctx, b, ids, vectors); err != nil {
			return nil, fmt.Errorf("embed: %w", err)
		}
	}
	return vectors, nil
}

// run computes the embeddings of one batch.
func (m *Model) run(ctx context.Context, b batch, ids [][]int, vectors [][]float32) error {
	words, positions, groups, pool := b.arrays(ids, m.first)
	defer words.Close()
	defer positions.Close()
	defer groups.Close()
	defer pool.Close()
	out, err := m.p.Predict(ctx, words, positions, groups, pool)
	if err != nil {
		return err
	}
	defer out.Close()
	values, err := nd.Values[float32](out)
	if err != nil {
		return err
	}
	for _, p := range b.places {
		from := (p.row*b.length/2 + p.number) * m.units
		v := append([]float32(nil), values[from:from+m.units]...)
		if m.normal {
			normalize(v)
		}
		vectors[p.sentence] = v
	}
	return nil
}

// normalize gives v the length 1; zeros stay zeros, as torch.nn.functional.normalize leaves them.
func normalize(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	scale := float32(1 / max(math.Sqrt(sum), 1e-12))
	for i := range v {
		v[i] *= scale
	}
}

// Close waits for the calls of Embed that go on and gives the memory back.
func (m *Model) Close() {
	if m != nil {
		m.p.Close()
	}
}
