package node

const (
	// MaxSlice is the size in bytes of the largest slice that a server accepts.
	MaxSlice = 1 << 28
	// RowsLimit is how many bytes of a table's rows a worker may change on one shard in one step,
	// and how many bytes of rows of one slice it asks for in one message.
	RowsLimit = 32 << 20
)

// Limits that FillLimits sets.
const (
	defaultWindow = 1024    // pushes
	defaultAhead  = 2       // rounds
	defaultCredit = 4 << 20 // bytes
)

// FillLimits sets the limits on which servers and workers must agree, where they are not given:
// window is how many pushes of one worker to one shard may be uncommitted, ahead how many rounds of
// one key may be open, credit how many bytes a worker may have on their way to one shard that the
// server has not taken in.
//
// The window is rounded up to a multiple of 64, because servers note sequences in words of 64 bits.
func FillLimits(window, ahead, credit *int) {
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
