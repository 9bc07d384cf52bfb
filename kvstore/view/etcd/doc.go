// Package etcd keeps the view of a job in etcd and elects the job's scheduler there.
//
// A program that imports the package can open the store by its address:
//
//	import _ "gomx/kvstore/view/etcd"
//
//	etcd://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…][/PREFIX][?OPTION=VALUE&…]
//
// The hosts are members of one etcd cluster, version 3.4 or later. Connections use TLS if the
// scheme is etcds or if the address has ca, cert or key: ca is a file of certificate authorities
// (default: those of the system), cert and key are the files of a client's certificate. The prefix
// of the keys is /gomx by default. ttl is the time to live of leases, by default 2 s, the shortest
// that etcd grants with its default intervals.
//
// # Keys
//
// The keys of job J, a hexadecimal number, are:
//
//	PREFIX/J/leader            address of the scheduler that leads; bound to its lease
//	PREFIX/J/view              record of the view (view.Encode)
//	PREFIX/J/candidates/LEASE  address of a scheduler that leads or waits; bound to its lease
//
// The revision at which the leader's key was created is the term of the lead. All writes of a lead
// are transactions: they compare the revision of the leader's key with the term, and the revision
// of the view with the revision of the lead's own last write. So nothing is written by a lead whose
// lease has ended, and no delayed write of a lead replaces a later one of the same lead.
//
// # Leases
//
// Each scheduler has one lease, which it renews several times within the time to live, each time at
// any member of the cluster. Only etcd says that a lease has ended: while no member answers, a
// leader goes on, can save nothing, and continues when etcd does. After the last worker has left,
// the view gets a lease of an hour, so that etcd forgets the job. The view of a job that fails
// stays.
package etcd
