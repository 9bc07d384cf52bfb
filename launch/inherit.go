package launch

import (
	"net"
	"slices"
	"strings"
)

// inherited returns what the processes of a job take over from the environment of their launcher:
// all but the variables of a job, which may be those of another one that the launcher itself is
// part of. Intervals, verbosity, the host, shared memory and the address of the status pages are
// taken over.
func inherited(environ []string) []string {
	jobs := []string{envRole, envWorkers, envServers, envRootHost, envRootPort, envWorkerID,
		envServerID, envRank, envScheduler,
		envJob, envReplicas, envPolicy, envBackups, envMemory, envDir, envKeys, envThreads,
		envSnapshots, envRestore, envLauncher}
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(jobs, name)
	})
}

// statusHost returns the address of the status pages for processes of one machine: they cannot
// share a port, so each takes a free one of the same host. It returns "" for addresses that need no
// change.
func statusHost(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "0" {
		return ""
	}
	return net.JoinHostPort(host, "0")
}

// value returns the value of a variable in an environment, that of the last entry with its name.
func value(environ []string, name string) (v string) {
	for _, entry := range environ {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			v = text
		}
	}
	return v
}
