// Package network finds the addresses of this host for a job: the address of a network interface,
// the address from which another host is reached, and the ranges of ports that firewalls let pass.
package network
