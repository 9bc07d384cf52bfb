package ps

// Time is a moment in nanoseconds since any fixed one. The state machines have no clock: their
// driver tells them the time.
type Time int64

// Units of time.
const (
	Millisecond Time = 1e6
	Second      Time = 1e9
)

// Timing holds the intervals of the protocol. Zero fields get their defaults.
type Timing struct {
	Heartbeat Time // between signs of life; 0.5 s
	Suspect   Time // silence after which the scheduler relies on a node no more; half of Dead
	Dead      Time // silence after which the scheduler gives a node up; 3 s
	// silence of the scheduler, or of all copies of a shard, after which the job is given up; 100 s
	Patience Time
	Resend   Time // until a message that was not answered is sent again; 0.3 s
	Park     Time // how long a server keeps a pull that nobody repeats; 3 s
	AckDelay Time // how long a server may collect receipts; 20 ms
}

// Fill sets the defaults of zero fields.
func (t *Timing) Fill() {
	def := func(p *Time, v Time) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&t.Heartbeat, 500*Millisecond)
	def(&t.Dead, 3*Second)
	def(&t.Suspect, t.Dead/2)
	def(&t.Patience, 100*Second)
	def(&t.Resend, 300*Millisecond)
	def(&t.Park, 3*Second)
	def(&t.AckDelay, 20*Millisecond)
}

// Policy is the fate of rounds whose worker has died.
type Policy uint8

// Policies.
const (
	// Wait lets rounds wait until another process takes over the dead worker's rank. The result is
	// the undisturbed run's, bit for bit.
	Wait Policy = iota
	// Shrink lets rounds close without the dead. Contributors may differ between shards.
	Shrink
)

// String returns wait or shrink.
func (p Policy) String() string {
	if p == Shrink {
		return "shrink"
	}
	return "wait"
}
