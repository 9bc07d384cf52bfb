package launch

import (
	"fmt"

	"gomx/kvstore/wire"
)

// ZeroMQ ends the process when it cannot open a file, so the limit is checked before a process
// starts. The numbers of files were counted: a scheduler has 21 and one for each other process; a
// server has 17, 3 for each worker and 8 for each server; a worker has 21 and 5 for each server.
// spareFiles are for files of the program, requests to the status pages, and connections that are
// being replaced.
const spareFiles = 40

// filesFor returns the number of open files that a process of a job needs.
func filesFor(role wire.Role, workers, servers int) uint64 {
	n := spareFiles
	switch role {
	case wire.Scheduler:
		n += workers + servers
	case wire.Server:
		n += 3*workers + 8*servers
	case wire.Worker:
		n += 5 * servers
		if servers == 0 { // it listens, and the workers connect to each other
			n += 8 * workers
		}
	}
	return uint64(n)
}

// checkFiles returns an error if this process may open fewer than need files. what names the
// process.
func checkFiles(what string, need uint64) error {
	have, ok := openFiles()
	if !ok || have >= need {
		return nil
	}
	return usageError{fmt.Errorf("launch: %s: found a limit of %d open files, want %d: "+
		"raise it with ulimit -n %d", what, have, need, need)}
}

// checkFiles returns an error if the limit is too low for a process of the job or for the launcher.
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
