package ps

// ID names a slice of a key.
type ID struct {
	Key   uint32
	Slice uint16
}

// MaxNote is the longest note of a group of workers in bytes. It is part of every view.
const MaxNote = 1 << 16

// ShardOf returns the shard on which a slice of a key lives: slices of one key, and keys that
// follow each other, are spread over all shards.
func ShardOf(id ID, shards int) uint32 {
	return uint32((uint64(id.Key)*0x9E3779B1 + uint64(id.Slice)) % uint64(shards))
}
