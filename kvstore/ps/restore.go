package ps

import (
	"encoding/binary"
	"fmt"
)

// RestoredVersion is the version of an optimizer from a snapshot: a job that continues sets its own
// under higher numbers.
const RestoredVersion = 1

// restore fills a fresh shard from the snapshot that the job continues from. Incarnations start
// anew: sequences of the old run mean nothing, clocks stay.
func (rp *replica) restore() {
	if rp.cfg.Restore == nil {
		return
	}
	b := rp.cfg.Restore(rp.id)
	if b == nil {
		return
	}
	if err := rp.load(b); err != nil {
		rp.out.event(EventLost, rp.self, rp.id, rp.epoch, err.Error())
	}
}

func (rp *replica) load(b []byte) error {
	id, _, err := CheckSnapshot(b)
	if err != nil {
		return err
	}
	if id != rp.id {
		return fmt.Errorf("%w: snapshot of shard %d for shard %d", errState, id, rp.id)
	}
	n := binary.LittleEndian.Uint32(b[32:])
	rp.restoring = true
	rest, err := rp.setHead(b[36 : len(b)-4])
	rp.restoring = false
	if err != nil {
		return err
	}
	for range n {
		if rest, err = rp.setPart(rest); err != nil {
			return err
		}
	}
	if len(rest) != 0 {
		return fmt.Errorf("%w: %d bytes too many", errState, len(rest))
	}
	for i := range rp.ranks {
		rp.ranks[i].join(0)
		rp.ranks[i].away = false
	}
	for _, e := range rp.order {
		clear(e.starts)
	}
	return nil
}
