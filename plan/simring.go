package plan

import "gomx/kvstore/wire"

// Sizes in bytes of the allreduce store: keys up to ringDirect go from every worker to every other
// one, in messages of up to ringBucket; larger keys have slices of up to ringSlice with owners.
const (
	ringDirect = 16 << 10
	ringBucket = 64 << 10
	ringSlice  = 512 << 10
)

// ringKey is a key of the allreduce store.
type ringKey struct {
	bytes  int64
	slices []ringSlicePlace // with owners; none for keys that every worker adds up
	bucket int              // of a key without owners
}

// ringSlicePlace is a slice with its owner.
type ringSlicePlace struct {
	bytes int64
	owner int
}

// layoutRing cuts the keys of a network for so many workers, as the allreduce store does, and
// returns the bytes of the buckets and the number of their keys.
func layoutRing(n *Network, workers int) (keys []ringKey, buckets []int64, members []int) {
	open := -1
	for i := range n.Keys {
		k := ringKey{bytes: n.Keys[i].Bytes, bucket: -1}
		if k.bytes <= ringDirect {
			if open < 0 || buckets[open]+k.bytes > ringBucket {
				open = len(buckets)
				buckets, members = append(buckets, 0), append(members, 0)
			}
			k.bucket = open
			buckets[open] += k.bytes
			members[open]++
		} else {
			open = -1
			each := ringEach(k.bytes, workers)
			count := uint16(int64(workers) * each)
			for s := range count {
				lo, hi := wire.Range(uint64(k.bytes), s, count)
				k.slices = append(k.slices, ringSlicePlace{int64(hi - lo), int(s) / int(each)})
			}
		}
		keys = append(keys, k)
	}
	return keys, buckets, members
}

// ringEach returns the number of slices that each worker owns of a key of some bytes.
func ringEach(bytes int64, workers int) int64 {
	part := (bytes + int64(workers) - 1) / int64(workers)
	return max(1, (part+ringSlice-1)/ringSlice)
}

// RingMessages returns the number of messages that a worker of the allreduce store sends for a key
// of some bytes alone, which is the number that it receives, and the bytes of each.
func RingMessages(bytes int64, workers int) (count int, size float64) {
	if bytes <= ringDirect {
		return workers - 1, float64(bytes)
	}
	each := ringEach(bytes, workers)
	return 2 * (workers - 1) * int(each), float64(bytes) / float64(int64(workers)*each)
}

// ringTraffic returns the traffic of worker 0 in a step.
func ringTraffic(n *Network, j *Job) (t Traffic) {
	keys, buckets, _ := layoutRing(n, j.Workers)
	others := int64(j.Workers - 1)
	for _, b := range buckets {
		for range others {
			t.add(b, b)
		}
	}
	for i := range keys {
		for _, s := range keys[i].slices {
			if s.owner != 0 {
				t.add(s.bytes, s.bytes)
				continue
			}
			for range others {
				t.add(s.bytes, s.bytes)
			}
		}
	}
	return t
}

// ring adds up keys among the workers.
type ring struct {
	s       *simulation
	keys    []ringKey
	buckets []int64
	members []int
	open    map[ringPlace]int // contributions that have come, or keys that wait in a bucket
	updates []lane            // by worker: the optimizer changes one key after the other
}

// ringPlace is a place where contributions are counted.
type ringPlace struct {
	kind              byte // 's' slice at its owner, 'k' key at a worker, 'b' bucket of a worker
	worker, key, item int
	round             int
}

func (s *simulation) newRing() *ring {
	r := &ring{s: s, open: map[ringPlace]int{}}
	r.keys, r.buckets, r.members = layoutRing(s.net, s.job.Workers)
	for _, w := range s.workers {
		r.updates = append(r.updates, lane{machine: s.machines[w.machine], width: 1})
	}
	return r
}

// count counts at a place up to a number and reports whether it is reached.
func (r *ring) count(p ringPlace, want int) bool {
	r.open[p]++
	if r.open[p] < want {
		return false
	}
	delete(r.open, p)
	return true
}

// push contributes a worker's gradient.
func (r *ring) push(w *simWorker, k int) {
	key := &r.keys[k]
	round := w.keys[k].clock
	workers := r.s.job.Workers
	if workers == 1 {
		r.update(w, k)
		return
	}
	if key.bucket >= 0 {
		r.gather(w, key.bucket, round)
		r.arrived(w, k, round) // its own contribution
		return
	}
	w.keys[k].missing = len(key.slices)
	for i, s := range key.slices {
		if s.owner == w.rank {
			r.add(w, k, i, round)
			continue
		}
		owner := r.s.workers[s.owner]
		r.send(w, owner, s.bytes, -k, func() { r.add(owner, k, i, round) })
	}
}

// gather sends the keys of a bucket to all other workers when all of them are there.
func (r *ring) gather(w *simWorker, bucket, round int) {
	if !r.count(ringPlace{'b', w.rank, 0, bucket, round}, r.members[bucket]) {
		return
	}
	first := 0
	for r.keys[first].bucket != bucket {
		first++
	}
	for _, to := range r.s.workers {
		if to == w {
			continue
		}
		r.send(w, to, r.buckets[bucket], -first, func() {
			for k := range r.keys {
				if r.keys[k].bucket == bucket {
					r.arrived(to, k, round)
				}
			}
		})
	}
}

// arrived counts a contribution to a key that a worker adds up as a whole.
func (r *ring) arrived(w *simWorker, k, round int) {
	if r.count(ringPlace{'k', w.rank, k, 0, round}, r.s.job.Workers) {
		r.update(w, k)
	}
}

// add counts a contribution to a slice at its owner, which sends the sum to all others.
func (r *ring) add(owner *simWorker, k, slice, round int) {
	if !r.count(ringPlace{'s', owner.rank, k, slice, round}, r.s.job.Workers) {
		return
	}
	for _, to := range r.s.workers {
		if to == owner {
			r.sum(to, k)
			continue
		}
		r.send(owner, to, r.keys[k].slices[slice].bytes, -k, func() { r.sum(to, k) })
	}
}

// sum takes in the sum of a slice.
func (r *ring) sum(w *simWorker, k int) {
	if w.keys[k].missing--; w.keys[k].missing == 0 {
		r.update(w, k)
	}
}

// update lets the optimizer of a worker change a key.
func (r *ring) update(w *simWorker, k int) {
	seconds := r.s.host.update(float64(r.keys[k].bytes)) * r.s.effects.compute
	r.updates[w.rank].push(-k, &task{left: seconds, compute: true,
		done: func() { w.exchanged(k) }})
}

// send sends a message between workers.
func (r *ring) send(from, to *simWorker, bytes int64, priority int, done func()) {
	s := r.s
	half := 0.0
	if way := s.host.Ways[s.job.way(from.machine, to.machine)]; way != nil {
		pair, _ := way.cost(way.Rings, s.job.Workers, float64(bytes))
		half = pair / 2 * s.effects.network
	}
	from.network.push(priority, &task{left: half, done: func() {
		s.carry(from.machine, to.machine, bytes, func() {
			to.network.push(arrivals, &task{left: half, done: done})
		})
	}})
}
