package plan

import (
	"gomx/dtype"
	"gomx/kvstore"
	"gomx/kvstore/compress"
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// piece is a slice of a key, as the store cuts it.
type piece struct {
	key    int
	server int   // that leads its shard
	push   int64 // bytes of the payload of a push
	value  int64 // bytes of the value
	coded  int64 // elements that are compressed; 0: the push has plain values
}

// pieces cuts the keys of a network into slices and finds their servers.
func (j *Job) pieces(n *Network) (list []piece) {
	shards := kvstore.Shards(max(1, j.Servers))
	for k := range n.Keys {
		key := &n.Keys[k]
		count := wire.Slices(uint64(key.Bytes), j.slice())
		for i := range count {
			lo, hi := wire.Range(uint64(key.Bytes), i, count)
			shard := ps.ShardOf(ps.ID{Key: uint32(k), Slice: i}, shards)
			p := piece{key: k, server: int(shard) % max(1, j.Servers), value: int64(hi - lo)}
			p.push = p.value
			if j.Compression.Kind != compress.None && key.DType == dtype.Float32 && !key.State {
				p.coded = p.value / 4
				p.push = int64(j.Compression.Size(int(p.coded)))
			}
			list = append(list, p)
		}
	}
	return list
}

// Traffic is the payload that a process sends and receives in a step, in bytes, and the number of
// its messages. It leaves out headers and receipts.
type Traffic struct {
	Sent, Received int64
	Messages       int64
}

// add adds messages of one size.
func (t *Traffic) add(sent, received int64) {
	t.Sent += sent
	t.Received += received
	t.Messages += 2
}

// Total returns the bytes in both directions.
func (t *Traffic) Total() int64 { return t.Sent + t.Received }

// TrafficOf returns the traffic of a worker and of every server in a step of all workers.
func TrafficOf(n *Network, j Job) (worker Traffic, servers []Traffic) {
	if j.Store == StoreRing {
		return ringTraffic(n, &j), nil
	}
	servers = make([]Traffic, j.Servers)
	for _, p := range j.pieces(n) {
		worker.add(p.push, p.value)
		for range j.Workers {
			servers[p.server].add(p.value, p.push)
		}
	}
	return worker, servers
}
