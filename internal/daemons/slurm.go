//go:build linux

package daemons

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gomx/internal/hosts"
)

// Slurm is a cluster of Slurm on this machine.
type Slurm struct {
	Env []string // variables for srun and the other commands
}

// StartSlurm starts a controller and a daemon for each of n nodes, all on this machine. Slurm takes
// the nodes for different hosts. No munge is needed: the cluster trusts every user of the machine.
func StartSlurm(t testing.TB, n int) *Slurm {
	t.Helper()
	hosts.NeedRoot(t)
	controller := hosts.Need(t, "slurmctld", "slurmctld")
	slurmd := hosts.Need(t, "slurmd", "slurmd")
	sinfo := hosts.Need(t, "sinfo", "slurm-client")
	dir := shared(t)
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ = strings.Cut(name, ".")
	var text strings.Builder
	fmt.Fprintf(&text, `ClusterName=gomx
SlurmctldHost=%s(127.0.0.1)
SlurmctldPort=%d
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SlurmUser=root
SlurmdUser=root
StateSaveLocation=%s/state
SlurmdSpoolDir=%s/spool-%%n
SlurmctldPidFile=%s/slurmctld.pid
SlurmdPidFile=%s/slurmd-%%n.pid
ReturnToService=2
KillWait=5
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
`, name, port(t), dir, dir, dir, dir)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&text, "NodeName=n%d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=2\n", i,
			name, port(t))
		if err := os.MkdirAll(filepath.Join(dir, fmt.Sprintf("spool-n%d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "state"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "slurm.conf")
	if err := os.WriteFile(config, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &Slurm{Env: []string{"SLURM_CONF=" + config}}
	start := func(program string, args ...string) {
		cmd := exec.Command(program, append(args, "-D", "-f", config)...)
		cmd.Env = append(cmd.Environ(), s.Env...)
		daemon(t, cmd)
	}
	start(controller, "-c")
	for i := 1; i <= n; i++ {
		start(slurmd, "-c", "-N", fmt.Sprintf("n%d", i))
	}
	await(t, fmt.Sprintf("%d idle nodes of Slurm", n), func() bool {
		cmd := exec.Command(sinfo, "-h", "-N", "-t", "idle", "-o", "%N")
		cmd.Env = append(cmd.Environ(), s.Env...)
		out, err := cmd.Output()
		return err == nil && strings.Count(string(out), "\n") == n
	})
	return s
}
