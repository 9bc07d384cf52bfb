// Package hosts gives tests network namespaces that stand for hosts: each has an address, a host
// name and a link that a test takes down, and a test divides the network into parts.
//
//	net := hosts.New(t, 3)
//	cmd := net.Hosts[1].Command("etcd", "--listen-client-urls", "http://"+net.Hosts[1].IP+":2379")
//	err := cmd.Start()
//	…
//	net.Hosts[1].Down()                              // its cable is pulled
//	net.Hosts[1].Up()
//	net.Partition(net.Hosts[:1], net.Hosts[1:])      // two parts that do not reach each other
//	net.Heal()
//	net.Hosts[2].Kill()                              // every process of the host dies
//
// All hosts share the files of the machine. The file /etc/hosts is their own: it has the names of
// all hosts, host1, host2 and so on. The test's own process reaches the hosts too; its address in
// their network is Net.Gateway. At the end of the test the package kills all processes in the
// namespaces and removes them; namespaces of a test that was killed are removed by the next one.
//
// Named and Need are for all tests with real daemons: they run only when -run names them, and a
// missing program is an error with the command that installs it.
//
// It is imported by tests only. It works on Linux, as root.
package hosts
