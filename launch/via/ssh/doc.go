// Package ssh starts the processes of a job on other hosts with the ssh client, which must be able
// to log in without a password.
//
//	list, err := ssh.ReadHosts("hosts.txt")
//	remote, err := ssh.New(ssh.Config{Hosts: list, Workers: 4, Servers: 2})
//	err = launch.Local{Program: program, Workers: 4, Servers: 2, Remote: remote}.Run(ctx)
//
// # The way of a process
//
// For every process of the job the launcher runs one client, whose command is a fixed script of the
// POSIX shell. The script reads its work from standard input: the working directory, the variables,
// the keys of this process and the program with its arguments. So neither keys nor arguments are
// visible in a list of processes, and no shell splits or expands an argument. The keys lie in a
// folder of mode 0700 on the host, which is removed when the process ends.
//
// The script starts the program in a process group of its own and waits for it. Its exit code is
// the program's, 128 plus the number of a signal, or 255 if the connection has failed. Lines on
// standard input send signals to the group. When standard input ends, because the launcher or its
// host has died, the script ends the group: SIGTERM, and SIGKILL after 5 s.
package ssh
