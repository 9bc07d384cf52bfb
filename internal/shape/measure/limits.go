package measure

// Limits on the shape of a package. internal/arch holds them, with lists of exemptions and of
// figures that are still beyond; internal/shape marks figures beyond them in its table.
const (
	MostStems    = 25    // files of one package, where files of kernels of one stem count once
	MostFields   = 15    // fields of a struct
	MostMethods  = 40    // methods of a type
	MostLong     = 0.005 // share of lines over LongLine columns
	MostRelative = 0.02  // share of comment lines with a free relative
	LeastComment = 0.20  // share of comment lines in the cores
	LeastCover   = 0.95  // share of statements of the cores that tests reach
)

// Cores are the pure packages that hold the algorithms.
var Cores = []string{"engine/core", "memplan", "compile", "kvstore/ps", "kvstore/ps/node",
	"kvstore/ps/sched", "kvstore/ps/server", "kvstore/ps/worker"}
