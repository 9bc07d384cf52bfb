// Package rank finds the place of a process among the processes that MPI, Slurm or Kubernetes has
// started together, in the variables that these set:
//
//	engine                     rank                    number of processes
//	Open MPI                   OMPI_COMM_WORLD_RANK    OMPI_COMM_WORLD_SIZE
//	Slurm (srun)               SLURM_PROCID            SLURM_STEP_NUM_TASKS
//	MPICH, Intel MPI           PMI_RANK                PMI_SIZE
//	PMIx                       PMIX_RANK               unknown
//	Kubernetes (Indexed Job)   JOB_COMPLETION_INDEX    unknown
//
// The first engine of the list whose rank is set counts: mpirun within a job of Slurm is Open MPI.
// The package reads no environment itself; package launch turns a Place into a role of a job.
package rank
