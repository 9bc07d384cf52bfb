package launch

import (
	"fmt"

	"gomx/kvstore/wire"
)

// A library below the transport ends the process when it cannot open a file, so the limit is looked
// at beforehand. The numbers for connections are those of open files of processes that were
// counted: 21 and one for each other process in a scheduler, 17 with 3 for each worker and 8 for
// each server in a server, 21 with 5 for each server in a worker. The rest is for files of the
// program, requests to the status pages, and connections that are being replaced.
const spareFiles = 40

// filesFor returns how many open files a process of a job needs.
func filesFor(role wire.Role, workers, servers int) uint64 {
	n := spareFiles
	switch role {
	case wire.Scheduler:
		n += workers + servers
	case wire.Server:
		n += 3*workers + 8*servers
	case wire.Worker:
		n += 5 * servers
	}
	return uint64(n)
}

// checkFiles refuses to start a process that could not open the files it needs.
func checkFiles(what string, need uint64) error {
	have, ok := openFiles()
	if !ok || have >= need {
		return nil
	}
	return usageError{fmt.Errorf("launch: %s needs %d open files, the limit of this process is "+
		"%d: raise it with ulimit -n %d", what, need, have, need)}
}

// checkFiles refuses a job whose processes, or whose launcher, could not open the files they need.
func (l *Local) checkFiles() error {
	processes := 1 + l.Workers + l.Servers
	if err := checkFiles("the launcher", uint64(spareFiles+4*processes)); err != nil {
		return err
	}
	for _, role := range []wire.Role{wire.Scheduler, wire.Server, wire.Worker} {
		if err := checkFiles("a "+role.String(), filesFor(role, l.Workers, l.Servers)); err != nil {
			return err
		}
	}
	return nil
}
