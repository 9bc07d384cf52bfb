// Package mpi starts a job with mpirun of Open MPI, one rank for each worker.
package mpi
