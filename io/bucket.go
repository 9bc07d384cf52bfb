package io

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"unsafe"

	"gomx/dtype"
	nd "gomx/ndarray"
)

// BucketSentenceConfig configures BucketSentenceIter.
type BucketSentenceConfig struct {
	Sentences [][]int // each sentence is a list of word numbers
	BatchSize int     // 0: 1
	// Buckets are the lengths to which sentences are filled up; nil: every length with enough
	// sentences for a batch.
	Buckets []int
	// Invalid is the number of the padding word. It is also the label of the last word.
	Invalid   int
	DataName  string // "": data
	LabelName string // "": softmax_label
	// TimeMajor makes batches of shape (length, batch) instead of (batch, length), as MXNet's
	// layout TN.
	TimeMajor bool
	Seed      uint64
}

// BucketSentences iterates over sentences for language models; a batch holds sentences of similar
// length. It is used by one goroutine at a time.
type BucketSentences struct {
	c       BucketSentenceConfig
	lengths []int     // lengths of the buckets, ascending
	rows    [][][]int // filled-up sentences of each bucket
	dropped int
	order   [][2]int // batches of the epoch: bucket and index of the first row
	perm    [][]int  // order of the rows of each bucket
	epoch   int
	at      int
	share   share
	rings   []bucketRing
	keep    int
	stage   []float32
}

// bucketRing holds the batches of one bucket, which are filled in turn.
type bucketRing struct {
	list []*Batch
	turn int
}

// BucketSentenceIter iterates over sentences, as MXNet's iterator of that name. Every sentence is
// filled up to the length of the next bucket, a batch holds sentences of one bucket, and the label
// of a word is the next word. Sentences that are longer than the largest bucket, or that do not
// fill a batch, are left out. Every epoch has an order of its own.
func BucketSentenceIter(c BucketSentenceConfig) (*BucketSentences, error) {
	c.BatchSize = max(c.BatchSize, 1)
	if c.DataName == "" {
		c.DataName = "data"
	}
	if c.LabelName == "" {
		c.LabelName = "softmax_label"
	}
	b := &BucketSentences{c: c, lengths: slices.Clone(c.Buckets), keep: keepDefault}
	if b.lengths == nil {
		b.lengths = commonLengths(c.Sentences, c.BatchSize)
	}
	slices.Sort(b.lengths)
	b.lengths = slices.Compact(b.lengths)
	if len(b.lengths) == 0 || b.lengths[0] < 1 {
		return nil, fmt.Errorf("io: BucketSentenceIter: buckets %v for %d sentences in batches "+
			"of %d, want one positive length at least", b.lengths, len(c.Sentences), c.BatchSize)
	}
	b.fill()
	b.rings = make([]bucketRing, len(b.lengths))
	b.arrange()
	if len(b.order) == 0 {
		return nil, fmt.Errorf("io: BucketSentenceIter: no bucket of %v has the %d sentences of "+
			"a batch; %d of %d are longer", b.lengths, c.BatchSize, b.dropped, len(c.Sentences))
	}
	return b, nil
}

// commonLengths lists the lengths that at least batch sentences have.
func commonLengths(sentences [][]int, batch int) (lengths []int) {
	count := map[int]int{}
	for _, s := range sentences {
		if count[len(s)]++; count[len(s)] == batch && len(s) > 0 {
			lengths = append(lengths, len(s))
		}
	}
	return lengths
}

// fill fills the buckets with the sentences.
func (b *BucketSentences) fill() {
	b.rows = make([][][]int, len(b.lengths))
	for _, s := range b.c.Sentences {
		k, _ := slices.BinarySearch(b.lengths, len(s))
		if k == len(b.lengths) {
			b.dropped++
			continue
		}
		row := slices.Grow(slices.Clone(s), b.lengths[k]-len(s))
		for len(row) < b.lengths[k] {
			row = append(row, b.c.Invalid)
		}
		b.rows[k] = append(b.rows[k], row)
	}
}

// arrange computes the order of the current epoch, which depends only on the seed and the epoch.
func (b *BucketSentences) arrange() {
	r := rand.New(rand.NewPCG(b.c.Seed, uint64(b.epoch)))
	b.order, b.perm, b.at = b.order[:0], make([][]int, len(b.rows)), 0
	for k := range b.rows {
		b.perm[k] = r.Perm(len(b.rows[k]))
		for from := 0; from+b.c.BatchSize <= len(b.rows[k]); from += b.c.BatchSize {
			b.order = append(b.order, [2]int{k, from})
		}
	}
	r.Shuffle(len(b.order), func(i, j int) { b.order[i], b.order[j] = b.order[j], b.order[i] })
	if s := &b.share; s.parts > 1 {
		whole, mine := len(b.order)-len(b.order)%s.parts, b.order[:0]
		for i := s.part; i < whole; i += s.parts {
			mine = append(mine, b.order[i])
		}
		b.order = mine
	}
}

// Next returns the next batch, whose bucket is the length of its sentences. At the end of the epoch
// it returns io.EOF.
func (b *BucketSentences) Next(ctx context.Context) (*Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if b.at == len(b.order) {
		return nil, io.EOF
	}
	k, from := b.order[b.at][0], b.order[b.at][1]
	b.at++
	batch := b.batch(k)
	rows := b.perm[k][from : from+b.c.BatchSize]
	copy(batch.Index, rows)
	for label, a := range []*nd.Array{batch.Data[0], batch.Label[0]} {
		if err := b.write(a, k, rows, label); err != nil {
			return nil, fmt.Errorf("io: filling a batch of bucket %d: %w", b.lengths[k], err)
		}
	}
	return batch, nil
}

// batch returns the least recently used batch of bucket k.
func (b *BucketSentences) batch(k int) *Batch {
	r := &b.rings[k]
	if len(r.list) <= b.keep {
		list := []*nd.Array{nd.Empty(b.shape(k)), nd.Empty(b.shape(k))}
		batch := &Batch{Data: list[:1], Label: list[1:], Index: make([]int, b.c.BatchSize),
			Bucket: b.lengths[k]}
		r.list = append(r.list, batch)
		return batch
	}
	batch := r.list[r.turn%len(r.list)]
	r.turn = (r.turn + 1) % len(r.list)
	return batch
}

// write fills a with rows of bucket k. shift is the number of the first word that is copied.
func (b *BucketSentences) write(a *nd.Array, k int, rows []int, shift int) error {
	n, length := len(rows), b.lengths[k]
	b.stage = slices.Grow(b.stage[:0], n*length)[:n*length]
	for i, row := range rows {
		for t := range length {
			word := b.c.Invalid
			if t+shift < length {
				word = b.rows[k][row][t+shift]
			}
			if b.c.TimeMajor {
				b.stage[t*n+i] = float32(word)
			} else {
				b.stage[i*length+t] = float32(word)
			}
		}
	}
	return a.WriteBytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b.stage))),
		4*len(b.stage)))
}

func (b *BucketSentences) shape(k int) nd.Shape {
	if b.c.TimeMajor {
		return nd.Shape{b.lengths[k], b.c.BatchSize}
	}
	return nd.Shape{b.c.BatchSize, b.lengths[k]}
}

// Reset begins the next epoch. It does nothing on an iterator that has not been used since the last
// Reset.
func (b *BucketSentences) Reset() error {
	if b.at > 0 {
		b.SetEpoch(b.epoch + 1)
	}
	return nil
}

// SetEpoch goes to the beginning of an epoch.
func (b *BucketSentences) SetEpoch(epoch int) {
	b.epoch = epoch
	b.arrange()
}

// Keep makes every batch stay valid during at least n further calls of Next.
func (b *BucketSentences) Keep(n int) { b.keep = max(b.keep, n) }

// ProvideData describes the data of the default bucket.
func (b *BucketSentences) ProvideData() []Desc {
	return []Desc{{Name: b.c.DataName, Shape: b.shape(len(b.lengths) - 1), DType: dtype.Float32}}
}

// ProvideLabel describes the labels of the default bucket.
func (b *BucketSentences) ProvideLabel() []Desc {
	return []Desc{{Name: b.c.LabelName, Shape: b.shape(len(b.lengths) - 1), DType: dtype.Float32}}
}

// BatchSize returns the number of sentences in a batch.
func (b *BucketSentences) BatchSize() int { return b.c.BatchSize }

// Batches returns the number of batches of an epoch.
func (b *BucketSentences) Batches() int { return len(b.order) }

// DefaultBucket returns the length of the longest sentences.
func (b *BucketSentences) DefaultBucket() any { return b.lengths[len(b.lengths)-1] }

// Buckets returns the lengths of the buckets, ascending.
func (b *BucketSentences) Buckets() []int { return slices.Clone(b.lengths) }

// Dropped returns the number of sentences that are longer than the largest bucket.
func (b *BucketSentences) Dropped() int { return b.dropped }

// Epoch resets the iterator and returns the batches of one epoch for a range loop.
func (b *BucketSentences) Epoch() iter.Seq2[*Batch, error] { return Epoch(context.Background(), b) }
