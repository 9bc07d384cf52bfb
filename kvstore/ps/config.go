package ps

// ServerConfig says how a server works. All servers and workers of a job have the same Job,
// Workers, Policy, Backups, Window, Ahead and Credit.
type ServerConfig struct {
	Job     uint64
	Rank    uint16
	Nonce   uint64 // drawn anew by every process
	Addr    string // where the server listens
	Workers int
	Policy  Policy
	Backups int // backup workers: rounds close when all but so many have contributed
	// pushes of one worker to one shard that may be uncommitted: credit and dedup window; 1024
	Window int
	Ahead  int    // rounds of one key that may be open; 2
	Credit int    // bytes that a worker may have on their way to one shard; 4 MiB
	Memory uint64 // bytes for values, rounds and early pushes; 0: no limit
	// CheckEvery is the number of log entries between comparisons of the copies; 64.
	CheckEvery uint64
	Timing     Timing
	Arithmetic Arithmetic // Plain when nil
	// Updater returns the updater of a copy of a shard; sums replace values when it is nil. Every
	// call returns a new one: copies must not share state.
	Updater func(shard uint32) Updater
	// Alloc and Free provide memory for values; the Go heap when nil.
	Alloc func(n int) []byte
	Free  func(b []byte)
	// Restore returns a shard's part of the snapshot that the job continues from, nil when it
	// starts fresh.
	Restore func(shard uint32) []byte
}

const (
	defaultWindow = 1024
	defaultAhead  = 2
)

// fillLimits sets the limits on which servers and workers must agree, where they are not given.
func fillLimits(window, ahead, credit *int) {
	if *window <= 0 {
		*window = defaultWindow
	}
	*window = (*window + 63) &^ 63
	if *ahead <= 0 {
		*ahead = defaultAhead
	}
	if *credit <= 0 {
		*credit = defaultCredit
	}
}

func (c *ServerConfig) fill() {
	fillLimits(&c.Window, &c.Ahead, &c.Credit)
	if c.CheckEvery == 0 {
		c.CheckEvery = 64
	}
	if c.Arithmetic == nil {
		c.Arithmetic = Plain{}
	}
	c.Timing.fill()
}
