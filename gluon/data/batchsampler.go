package data

import (
	"fmt"
	"iter"
)

// Last is the treatment of the samples at the end of an epoch that do not fill a batch.
type Last uint8

// The treatments of the last batch, with MXNet's names.
const (
	Keep     Last = iota // return a smaller batch
	Discard              // leave the samples out
	RollOver             // keep the samples for the next epoch
)

// String returns MXNet's name.
func (l Last) String() string {
	if names := [...]string{"keep", "discard", "rollover"}; int(l) < len(names) {
		return names[l]
	}
	return fmt.Sprintf("Last(%d)", l)
}

// BatchOrder chooses the samples of each batch of an epoch, as a function of the epoch alone: see
// Sampler, also for the method String.
type BatchOrder interface {
	// Len returns the number of batches of an epoch.
	Len(epoch int) int
	// Batches yields the numbers of the samples of each batch. The loader does not change them.
	Batches(epoch int) iter.Seq[[]int]
}

// BatchSampler cuts the samples of a sampler into batches of Size.
//
// MXNet: gluon.data.BatchSampler. With RollOver an epoch here begins with the samples that all
// earlier epochs have left over, whether a program read those epochs to their ends or not.
type BatchSampler struct {
	Sampler Sampler
	Size    int
	Last    Last
}

// left returns the number of samples that earlier epochs leave to an epoch.
func (b BatchSampler) left(epoch int) int {
	if b.Last != RollOver {
		return 0
	}
	return b.Sampler.Len() % b.Size * (epoch % b.Size) % b.Size
}

// Len returns the number of batches of an epoch.
func (b BatchSampler) Len(epoch int) int {
	if b.Size < 1 {
		return 0
	}
	n := b.Sampler.Len() + b.left(epoch)
	if b.Last == Keep {
		n += b.Size - 1
	}
	return n / b.Size
}

// Batches yields the batches of an epoch.
func (b BatchSampler) Batches(epoch int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		if b.Size < 1 {
			return
		}
		list := b.before(epoch, b.left(epoch))
		for i := range b.Sampler.Indices(epoch) {
			list = append(list, i)
		}
		for len(list) > 0 {
			n := min(b.Size, len(list))
			if n < b.Size && b.Last != Keep || !yield(list[:n:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// before returns the last n samples of the epochs before an epoch.
func (b BatchSampler) before(epoch, n int) []int {
	list := make([]int, 0, b.Sampler.Len()+n)
	if n == 0 {
		return list
	}
	first := epoch - 1
	for have := b.Sampler.Len(); have < n && first > 0; have += b.Sampler.Len() {
		first--
	}
	for e := first; e < epoch; e++ {
		for i := range b.Sampler.Indices(e) {
			list = append(list, i)
		}
	}
	return list[max(0, len(list)-n):]
}

// String names the sampler, the size and the treatment of the last batch.
func (b BatchSampler) String() string {
	return fmt.Sprintf("%s, batches of %d, last %v", textOf(b.Sampler), b.Size, b.Last)
}

// textOf returns the text that identifies a sampler or an order of batches.
func textOf(s any) string {
	if text, ok := s.(fmt.Stringer); ok {
		return text.String()
	}
	return fmt.Sprintf("%T", s)
}
