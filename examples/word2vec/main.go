// Word2vec learns vectors of words from a text, by skip-grams with negative sampling (Mikolov et
// al., 2013): the vector of a word is to tell its neighbours in the text from random words. Words
// with the same neighbours get similar vectors. Both tables have row_sparse gradients, so that a
// step costs by the words of its batch, and not by the size of the vocabulary.
//
//	go build -o word2vec ./examples/word2vec
//	gomx launch -n 3 -s 2 -- ./word2vec -kvstore dist_sync
//
// The text is made up, of words in classes. Each worker has sentences of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"gomx/autograd"
	"gomx/dtype"
	texts "gomx/examples/data"
	"gomx/gluon"
	"gomx/gluon/data"
	"gomx/gluon/loss"
	"gomx/gluon/nn"
	"gomx/initializer"
	"gomx/kvstore"
	"gomx/launch"
	nd "gomx/ndarray"
	"gomx/optimizer"
)

type options struct {
	texts.Words
	sentences, window, units, negatives, batch, epochs int
	lr                                                 float64
	store                                              string
}

// least is the share of words that must be nearest to a word of their class.
const least = 0.95

func main() {
	o := options{Words: texts.Words{Seed: 1}}
	flag.IntVar(&o.Classes, "classes", 20, "number of classes of words")
	flag.IntVar(&o.PerClass, "words", 50, "number of words of a class")
	flag.IntVar(&o.sentences, "sentences", 20_000, "number of sentences of a worker")
	flag.IntVar(&o.window, "window", 1, "largest distance of neighbours")
	flag.IntVar(&o.units, "units", 16, "size of a vector")
	flag.IntVar(&o.negatives, "negatives", 5, "number of random words for each neighbour")
	flag.IntVar(&o.batch, "batch", 256, "number of neighbours per step")
	flag.IntVar(&o.epochs, "epochs", 3, "number of passes over the text")
	flag.Float64Var(&o.lr, "lr", 0.02, "learning rate")
	flag.StringVar(&o.store, "kvstore", "local", "store of the vectors, such as dist_sync")
	flag.Parse()
	launch.Main(func(ctx context.Context) error {
		share, err := run(ctx, o)
		if err == nil && share < least {
			err = fmt.Errorf("%.3f of the words, want at least %v", share, least)
		}
		return err
	})
}

// skipGram has two vectors for each word: as a word, and as a neighbour of other words.
type skipGram struct{ Word, Neighbour *nn.Embedding }

func newSkipGram(words, units int) *skipGram {
	return &skipGram{
		&nn.Embedding{Rows: words, Units: units, SparseGrad: true},
		&nn.Embedding{Rows: words, Units: units, SparseGrad: true}}
}

// Forward returns the score of each of several candidates to be a neighbour of a word: words has
// the shape (n, 1), candidates and scores have the shape (n, k).
func (m *skipGram) Forward(words, candidates *nd.Array) *nd.Array {
	return nd.BatchDot(m.Word.Forward(words), m.Neighbour.Forward(candidates),
		nd.DotParams{TransposeB: true}).Reshape(0, -1)
}

// candidates adds random words to the neighbours of a batch. Frequent words, which have small
// numbers, are drawn more often.
func (o options) candidates(neighbours *nd.Array) *nd.Array {
	random := nd.SampleUniqueZipfian(nd.UniqueZipfianParams{RangeMax: o.Classes * o.PerClass,
		Shape: []int{neighbours.Shape()[0], o.negatives}})[0]
	return nd.Concat([]*nd.Array{neighbours.AsType(dtype.Int64), random},
		nd.ConcatParams{Dim: nd.Some(1)})
}

// near returns the share of words whose nearest other word, by the angle, is of the same class.
func (m *skipGram) near(words texts.Words) (share float64, err error) {
	n := words.Classes * words.PerClass
	v := nd.L2Normalization(m.Word.Forward(nd.Arange(0, float64(n), 1)), nd.L2NormalizationParams{})
	cosine := nd.Dot(v, v, nd.DotParams{TransposeB: true})
	others := cosine.Sub(nd.Eye(nd.EyeParams{N: n}).MulScalar(2)) // a word is far from itself
	nearest, err := nd.ArgMax(others, nd.ArgParams{Axis: nd.Some(1)}).Float32s()
	for i, k := range nearest {
		if words.Class(i) == words.Class(int(k)) {
			share += 1 / float64(n)
		}
	}
	return share, err
}

// run trains the vectors and returns the share of near.
func run(ctx context.Context, o options) (share float64, err error) {
	kv, err := kvstore.Open(ctx, o.store)
	if err != nil {
		return 0, err
	}
	defer kv.Close()
	m := newSkipGram(o.Classes*o.PerClass, o.units)
	net := gluon.Wrap(m, func(in []*nd.Array) []*nd.Array {
		return []*nd.Array{m.Forward(in[0], in[1])}
	})
	trainer, err := gluon.NewTrainer(net.Params(), optimizer.Adam{LR: o.lr}, gluon.StoreWith(kv),
		gluon.InJob(ctx))
	start := initializer.Uniform{Scale: 0.1}
	if err := errors.Join(err, net.Init(start, gluon.Seed(1))); err != nil {
		return 0, err
	}
	words, neighbours := o.Pairs(o.sentences, o.window, uint64(kv.Rank()))
	loader := data.NewLoader(data.Arrays(nd.FromSlice(words, len(words), 1),
		nd.FromSlice(neighbours, len(words), 1)), o.batch, data.Shuffle(7),
		data.LastBatch(data.Discard))
	first := nd.OneHot(nd.Zeros(nd.Shape{o.batch}), nd.OneHotParams{Depth: 1 + o.negatives})
	samples := o.batch // whose gradients a step adds up
	if kv.Sums() {
		samples *= kv.NumWorkers()
	}
	for epoch := range o.epochs {
		for batch, err := range loader.Batches(ctx) {
			if err != nil {
				return 0, err
			}
			scores := net.Call(autograd.Train().Watch(batch.Data), o.candidates(batch.Label))[0]
			loss.SigmoidBCE{}.Forward(scores, first).Backward()
			if err := trainer.Step(samples); err != nil {
				return 0, err
			}
		}
		if share, err = m.near(o.Words); err != nil {
			return 0, err
		}
		fmt.Printf("worker %d, epoch %d: %.3f of the words are nearest to one of their class\n",
			kv.Rank(), epoch, share)
	}
	return share, nil
}
