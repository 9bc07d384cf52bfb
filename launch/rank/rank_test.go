package rank_test

import (
	"strings"
	"testing"

	"gomx/launch/rank"
)

// environ reads variables from a list of NAME=value.
func environ(list string) func(string) string {
	m := map[string]string{}
	for v := range strings.FieldsSeq(list) {
		name, value, _ := strings.Cut(v, "=")
		m[name] = value
	}
	return func(name string) string { return m[name] }
}

func TestFind(t *testing.T) {
	const slurm = "SLURM_JOB_ID=12 SLURM_STEP_ID=0 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4 " +
		"SLURM_NTASKS=4 SLURM_LOCALID=0 SLURM_NODEID=1 SLURM_STEP_TASKS_PER_NODE=2(x2) " +
		"SLURM_STEP_NUM_NODES=2 "
	const openmpi = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_SIZE=3 " +
		"OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_RANK=1 PMIX_NAMESPACE=270794753 "
	for name, c := range map[string]struct {
		environ string
		want    rank.Place
	}{
		"none":           {"HOME=/root", rank.Place{}},
		"DMLC only":      {"DMLC_ROLE=worker DMLC_RANK=1", rank.Place{}},
		"openmpi 4":      {openmpi, rank.Place{"openmpi", 1, 3, 3, true, "270794753"}},
		"openmpi 5":      {openmpi + "PMIX_NAMESPACE=prterun-a@1", rank.Place{"openmpi", 1, 3, 3, true, "prterun-a-1"}},
		"openmpi, hosts": {openmpi + "OMPI_COMM_WORLD_LOCAL_SIZE=2", rank.Place{"openmpi", 1, 3, 2, false, "270794753"}},
		"srun":           {slurm, rank.Place{"slurm", 2, 4, 2, false, "12.0"}},
		"srun, requeued": {slurm + "SLURM_RESTART_COUNT=1", rank.Place{"slurm", 2, 4, 2, false, "12.0.1"}},
		"srun, one node": {slurm + "SLURM_STEP_NUM_NODES=1 SLURM_NODEID=0 SLURM_STEP_TASKS_PER_NODE=4",
			rank.Place{"slurm", 2, 4, 4, true, "12.0"}},
		"srun, uneven": {slurm + "SLURM_NODEID=2 SLURM_STEP_TASKS_PER_NODE=2(x2),1",
			rank.Place{"slurm", 2, 4, 1, false, "12.0"}},
		"srun with pmi2":    {slurm + "PMI_RANK=2 PMI_SIZE=4", rank.Place{"slurm", 2, 4, 2, false, "12.0"}},
		"sbatch script":     {"SLURM_JOB_ID=12 SLURM_PROCID=0 SLURM_NTASKS=4", rank.Place{}},
		"mpirun in a job":   {slurm + openmpi, rank.Place{"openmpi", 1, 3, 3, true, "270794753"}},
		"mpiexec in a job":  {slurm + "PMI_RANK=5 PMI_SIZE=8 MPI_LOCALNRANKS=4", rank.Place{"pmi", 5, 8, 4, false, ""}},
		"mpiexec":           {"PMI_RANK=1 PMI_SIZE=2 MPI_LOCALNRANKS=2", rank.Place{"pmi", 1, 2, 2, true, ""}},
		"pmix":              {"PMIX_RANK=4 PMIX_NAMESPACE=job.1", rank.Place{"pmix", 4, 0, 0, false, "job.1"}},
		"indexed job":       {"JOB_COMPLETION_INDEX=3", rank.Place{"kubernetes", 3, 0, 0, false, ""}},
		"indexed job first": {"JOB_COMPLETION_INDEX=0", rank.Place{"kubernetes", 0, 0, 0, false, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rank.Find(environ(c.environ))
			if err != nil || got != c.want {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestFindMistakes(t *testing.T) {
	for name, environment := range map[string]string{
		"OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_RANK=x OMPI_COMM_WORLD_SIZE=3",
		"OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=3",
		"JOB_COMPLETION_INDEX": "JOB_COMPLETION_INDEX=-1",
		"SLURM_STEP_NUM_TASKS": "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=0",
	} {
		if p, err := rank.Find(environ(environment)); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %+v, %v, want an error that names %s", environment, p, err, name)
		}
	}
}
