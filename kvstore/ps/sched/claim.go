package sched

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// held reports whether a place is held by a process that is heard of. Another one that asks for it
// is put off: the process that holds it may have just died, and its successor asks again, while a
// dead process whose hello comes late does not. When the process still lives after a while the
// other one is refused. So two processes that are given the same rank by mistake do not drive each
// other out, and only one of them goes on.
func (ms *members) held(me *wire.Member, nonce uint64) bool {
	if !me.Alive || ms.silence(me.Node) >= ms.cfg.Timing.Heartbeat*3/2 {
		delete(ms.asking, nonce)
		return false
	}
	since, asked := ms.asking[nonce]
	if !asked {
		ms.asking[nonce] = ms.awake.Time
		ms.out.Report(ps.EventJoined, me.Node, 0, 0,
			"another process asks for the place, which it gets when its process is silent")
		return true
	}
	if ms.awake.Time-since > ms.cfg.Timing.Dead {
		m := ms.message(wire.TypeReject)
		m.SetRefusal(wire.Refusal{Reason: wire.ReasonIncarnation, Of: wire.TypeHello, Seq: nonce})
		ms.send(me.Node, m) // on the connection on which it has just asked
	}
	return true
}
