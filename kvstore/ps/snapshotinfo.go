package ps

import (
	"encoding/binary"
	"fmt"

	"gomx/kvstore/wire"
)

// SnapshotWorkers returns how many workers the job had that wrote a shard's part of a snapshot.
func SnapshotWorkers(b []byte) (int, error) {
	if _, _, err := CheckSnapshot(b); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	b = b[36 : len(b)-4]
	h, err := cut(&b, 4)
	if err != nil {
		return 0, err
	}
	spec, err := cut(&b, uint64(le.Uint32(h)))
	if err != nil {
		return 0, err
	}
	if _, err := wire.DecodeSpec(spec); err != nil {
		return 0, fmt.Errorf("%w: %w", errState, err)
	}
	if h, err = cut(&b, 4); err != nil {
		return 0, err
	}
	return int(le.Uint32(h)), nil
}
