package ring

import (
	"slices"

	"gomx/kvstore/ps"
)

// bucket is a run of small keys, in the order of their creation, whose contributions leave in one
// message to each worker. It waits until the program has pushed all of them, or for bucketWait. A
// program that does not push them together lets the bucket wait in vain: after looseAfter times its
// keys leave on their own.
//
// A bucket joins messages only. Each contribution names its key and its round, so workers need not
// agree on buckets.
type bucket struct {
	size    uint64 // bytes of its keys
	keys    int
	waiting []*call
	leaving []*call // memory of waiting, in turns
	until   ps.Time // when the calls leave at the latest
	vain    int     // times that the bucket has waited in vain, one after the other
	loose   bool
}

const (
	bucketWait = 2 * ps.Millisecond
	looseAfter = 2
)

// fuse puts a new key into a bucket.
func (g *calls) fuse(k *key) {
	if k.each > 0 || k.spec.Aside || g.cfg.Bucket <= 0 || g.cfg.Workers == 1 {
		g.filling = nil // keys of one bucket follow each other
		return
	}
	b := g.filling
	if b == nil || b.size+k.spec.Total > uint64(g.cfg.Bucket) {
		b = &bucket{}
		g.filling = b
		g.buckets = append(g.buckets, b)
	}
	b.size += k.spec.Total
	b.keys++
	k.bucket = b
}

// gather lets a call wait for the other keys of its bucket.
func (g *calls) gather(b *bucket, c *call) {
	if len(b.waiting) == 0 {
		b.until = g.now + bucketWait
	}
	b.waiting = append(b.waiting, c)
	if len(b.waiting) == b.keys {
		b.vain = 0
		g.leave(b)
	}
}

// leave begins the calls of a bucket.
func (g *calls) leave(b *bucket) {
	b.waiting, b.leaving = b.leaving[:0], b.waiting
	for _, c := range b.leaving {
		g.begin(c)
	}
	clear(b.leaving)
}

// tickBuckets begins calls that have waited for long enough.
func (g *calls) tickBuckets() {
	for _, b := range g.buckets {
		if len(b.waiting) > 0 && g.now >= b.until {
			b.vain++
			b.loose = b.vain >= looseAfter
			g.leave(b)
		}
	}
}

// unwait takes a call out of its bucket and of the calls that wait for lower rounds.
func (g *calls) unwait(c *call) {
	same := func(x *call) bool { return x == c }
	g.deferred = slices.DeleteFunc(g.deferred, same)
	if c.key != nil && c.key.bucket != nil {
		b := c.key.bucket
		b.waiting = slices.DeleteFunc(b.waiting, same)
	}
}
