package launch_test

import (
	"strings"
	"testing"

	"gomx/kvstore/wire"
	"gomx/launch"
)

// TestRolesOfRanks gives processes the variables of engines and wants their roles.
func TestRolesOfRanks(t *testing.T) {
	const numbers = "DMLC_NUM_WORKER=2 DMLC_NUM_SERVER=2 "
	const address = "DMLC_PS_ROOT_URI=h DMLC_PS_ROOT_PORT=1 "
	mpi := func(rank, size string) string {
		return "OMPI_COMM_WORLD_RANK=" + rank + " OMPI_COMM_WORLD_SIZE=" + size +
			" OMPI_COMM_WORLD_LOCAL_SIZE=" + size + " "
	}
	for name, c := range map[string]struct {
		environ          string
		role             wire.Role
		rank             int
		workers, servers int
	}{
		"no engine":     {numbers, wire.NoRole, 0, 2, 2},
		"a worker":      {mpi("1", "3"), wire.Worker, 1, 3, 3},
		"with servers":  {mpi("2", "3") + "DMLC_NUM_SERVER=1", wire.Worker, 2, 3, 1},
		"with workers":  {mpi("1", "2") + numbers, wire.Worker, 1, 2, 2},
		"split, first":  {mpi("0", "5") + numbers, wire.Scheduler, 0, 2, 2},
		"split, second": {mpi("1", "5") + numbers, wire.Server, 0, 2, 2},
		"split, last":   {mpi("4", "5") + numbers, wire.Worker, 1, 2, 2},
		"index":         {"JOB_COMPLETION_INDEX=3 " + numbers + address, wire.Worker, 0, 2, 2},
		"index of none": {"JOB_COMPLETION_INDEX=3 ", wire.NoRole, 0, 0, 0},
		"single":        {mpi("0", "1"), wire.NoRole, 0, 0, 0},
		"job of one":    {mpi("0", "1") + "DMLC_NUM_WORKER=1", wire.Worker, 0, 1, 1},
		"turned off":    {mpi("1", "3") + "GOMX_ENGINE=none", wire.NoRole, 0, 0, 0},
		"role and rank": {"DMLC_ROLE=server PMI_RANK=1 PMI_SIZE=2 " + numbers + address,
			wire.Server, 1, 2, 2},
		"role, other": {"DMLC_ROLE=worker PMI_RANK=1 PMI_SIZE=4 " + numbers + address,
			wire.Worker, -1, 2, 2},
		"role with index": {"DMLC_ROLE=worker JOB_COMPLETION_INDEX=1 " + numbers + address,
			wire.Worker, 1, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			set(t, strings.Fields(c.environ)...)
			e, err := launch.FromEnviron()
			if err != nil || e.Role != c.role || e.Workers != c.workers || e.Servers != c.servers ||
				e.Role != wire.NoRole && e.Rank != c.rank {
				t.Errorf("got %s %d of %d workers and %d servers, %v, want %s %d of %d and %d",
					e.Role, e.Rank, e.Workers, e.Servers, err, c.role, c.rank, c.workers, c.servers)
			}
		})
	}
}

func TestRankMistakes(t *testing.T) {
	for want, environ := range map[string]string{
		"DMLC_NUM_WORKER": "PMI_RANK=1 PMI_SIZE=4 DMLC_NUM_WORKER=2 DMLC_NUM_SERVER=2",
		"rank 5":          "JOB_COMPLETION_INDEX=5 DMLC_NUM_WORKER=2 DMLC_NUM_SERVER=2",
		"PMI_RANK":        "PMI_RANK=x PMI_SIZE=4",
		"GOMX_ENGINE":     "GOMX_ENGINE=all",
		"GOMX_PORTS":      "GOMX_PORTS=7-5",
		"GOMX_IPV6":       "GOMX_IPV6=6",
	} {
		t.Run(want, func(t *testing.T) {
			set(t, strings.Fields(environ)...)
			if e, err := launch.FromEnviron(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %+v, %v, want an error that names %s", e, err, want)
			}
		})
	}
}
