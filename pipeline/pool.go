package pipeline

import "sync"

// pool keeps memory of tensors for the next micro-batches. The zero pool is ready.
type pool struct {
	mu   sync.Mutex
	free map[int][][]byte // by length
}

// get returns memory of a length, whose content is arbitrary.
func (p *pool) get(n int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.free[n]
	if len(list) == 0 {
		return make([]byte, n)
	}
	p.free[n] = list[:len(list)-1]
	return list[len(list)-1]
}

// put takes memory back.
func (p *pool) put(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free == nil {
		p.free = map[int][][]byte{}
	}
	p.free[len(b)] = append(p.free[len(b)], b)
}
