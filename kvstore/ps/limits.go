package ps

// maxSlice is the largest slice that a server accepts.
const maxSlice = 1 << 28

// tickLimit is how many bytes of rows a worker may change on one shard in one step, or read of one
// block at once.
const tickLimit = 32 << 20

// defaultCredit is how many bytes a worker may have on their way to one shard that the server has
// not taken in.
const defaultCredit = 4 << 20

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
