// Package slurm starts a job with srun of Slurm, one task for each worker. Within an allocation of
// salloc or sbatch srun uses its nodes; elsewhere srun waits for an allocation of its own.
package slurm
