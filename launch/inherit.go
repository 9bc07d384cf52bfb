package launch

import (
	"net"
	"slices"
	"strings"
)

// Inherited returns the variables that the processes of a job inherit from the launcher: all but
// the description of a job, because the launcher itself may be part of another job. Intervals,
// verbosity, the host, shared memory and the address of the status pages are inherited.
func Inherited(environ []string) []string {
	jobs := []string{envRole, envWorkers, envServers, envRootHost, envRootPort, envWorkerID,
		envServerID, envRank, envScheduler,
		envJob, envReplicas, envPolicy, envBackups, envMemory, envDir, envKeys, envThreads,
		envSnapshots, envRestore, envLauncher, envMeet, envShare, envView}
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(jobs, name)
	})
}

// statusHost returns the address of the status pages for the processes of one machine: the host of
// addr with a free port, because the processes cannot share one. It returns "" if addr is already
// such an address.
func statusHost(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "0" {
		return ""
	}
	return net.JoinHostPort(host, "0")
}

// value returns the value of variable name in an environment; the last entry counts.
func value(environ []string, name string) (v string) {
	for _, entry := range environ {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			v = text
		}
	}
	return v
}
