package generate

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
)

// Sampling says how the next word is chosen. The zero value takes the word of the best score, the
// first one of equals.
type Sampling struct {
	// Temperature divides the scores: words are drawn by the softmax of the quotient. 0 draws
	// nothing and takes the best word; TopK and TopP are 0 then.
	Temperature float64
	TopK        int     // draws from so many of the best words alone; 0: from all
	TopP        float64 // draws from the fewest best words with so much probability; 0: from all
	Seed        uint64  // of the draws; each sequence has a stream of its own
}

func (s *Sampling) check() error {
	switch {
	case !(s.Temperature >= 0) || math.IsInf(s.Temperature, 1):
		return fmt.Errorf("generate: Temperature is %v, want 0 or more", s.Temperature)
	case s.TopK < 0:
		return fmt.Errorf("generate: TopK is %d, want 0 or more", s.TopK)
	case !(s.TopP >= 0 && s.TopP <= 1):
		return fmt.Errorf("generate: TopP is %v, want a share from 0 to 1", s.TopP)
	case s.Temperature == 0 && (s.TopK > 0 || s.TopP > 0):
		return fmt.Errorf("generate: TopK is %d and TopP %v, but Temperature 0 draws nothing: "+
			"want a Temperature above 0", s.TopK, s.TopP)
	}
	return nil
}

// picker chooses words of one sequence. Its memory is used again.
type picker struct {
	Sampling
	rng    *rand.Rand
	ranked ranking
	weight []float64 // of the words that a draw chooses from
}

func newPicker(s Sampling, sequence uint64) *picker {
	return &picker{Sampling: s, rng: rand.New(rand.NewPCG(s.Seed, sequence))}
}

// pick chooses a word by the scores of all.
func (p *picker) pick(scores []float32) (int, error) {
	best := 0
	for i, v := range scores {
		if v != v {
			return 0, errNoScore(v)
		}
		if v > scores[best] {
			best = i
		}
	}
	top := float64(scores[best])
	if math.IsInf(top, 0) {
		return 0, errNoScore(scores[best])
	}
	if p.Temperature == 0 {
		return best, nil
	}
	if p.TopK == 0 && (p.TopP == 0 || p.TopP == 1) {
		return p.draw(scores, top, len(scores), func(i int) int { return i }), nil
	}
	p.ranked.begin(scores)
	k, total := p.TopK, 0.0
	if k == 0 || k >= len(scores) {
		k = len(scores)
		for _, v := range scores {
			total += p.weigh(v, top)
		}
	} else {
		for range k { // the k best words, behind the heap in falling order
			total += p.weigh(scores[p.ranked.next()], top)
		}
	}
	share := p.TopP
	if share == 0 {
		share = 1
	}
	n, sum := 0, 0.0
	for n < k && (n == 0 || share == 1 || sum < share*total) {
		sum += p.weigh(scores[p.ranked.at(n)], top)
		n++
	}
	return p.draw(scores, top, n, p.ranked.at), nil
}

// weigh returns a weight that is proportional to the probability of a word; top is the best score.
func (p *picker) weigh(score float32, top float64) float64 {
	return math.Exp((float64(score) - top) / p.Temperature)
}

// draw chooses one of n words by their weights.
func (p *picker) draw(scores []float32, top float64, n int, at func(int) int) int {
	p.weight = p.weight[:0]
	sum := 0.0
	for i := range n {
		sum += p.weigh(scores[at(i)], top)
		p.weight = append(p.weight, sum)
	}
	u := p.rng.Float64() * sum
	for i, s := range p.weight {
		if u < s {
			return at(i)
		}
	}
	return at(0) // u was rounded up to the sum
}

// ranking gives words in the order of their scores, as many as are asked for: a heap whose root
// moves behind it.
type ranking struct {
	scores []float32
	words  []int32 // the heap, and behind it those that have been given, the last one first
	left   int     // size of the heap
}

func (r *ranking) begin(scores []float32) {
	r.scores, r.words, r.left = scores, r.words[:0], len(scores)
	for i := range scores {
		r.words = append(r.words, int32(i))
	}
	heap.Init(r)
}

// next returns the next best word.
func (r *ranking) next() int {
	heap.Pop(r)
	return int(r.words[r.left])
}

// at returns the word at a place in the order, the best one at 0.
func (r *ranking) at(i int) int {
	for len(r.words)-r.left <= i {
		r.next()
	}
	return int(r.words[len(r.words)-1-i])
}

// Len is the size of the heap.
func (r *ranking) Len() int { return r.left }

// Less puts better scores first, and of equal ones the lower word.
func (r *ranking) Less(i, k int) bool {
	a, b := r.words[i], r.words[k]
	if r.scores[a] != r.scores[b] {
		return r.scores[a] > r.scores[b]
	}
	return a < b
}

// Swap swaps two words.
func (r *ranking) Swap(i, k int) { r.words[i], r.words[k] = r.words[k], r.words[i] }

// Push is never called.
func (r *ranking) Push(any) {}

// Pop leaves the word behind the heap.
func (r *ranking) Pop() any {
	r.left--
	return nil
}
