package data

import "math/rand/v2"

// stream is the memory of the random stream of one sample after the other. It is used by one
// goroutine.
type stream struct {
	pcg rand.PCG
	r   *rand.Rand
}

// of begins the stream of a sample in an epoch. The constant keeps it apart from the order of
// samples, which has the same seed.
func (s *stream) of(seed uint64, epoch, sample int) *rand.Rand {
	if s.r == nil {
		s.r = rand.New(&s.pcg)
	}
	s.pcg.Seed(seed^0x9e3779b97f4a7c15, uint64(epoch)<<40^uint64(sample))
	return s.r
}
