// Package transporttest is the conformance suite of transports. Its tests check the guarantees of
// kvstore/transport; every transport must pass them.
//
//	func TestConformance(t *testing.T) {
//		transporttest.Run(t, transporttest.Suite{Open: func(t testing.TB, cfg transport.Config) transport.Endpoint { ... }})
//	}
//
// Suite.Open opens endpoints that can reach each other. Node is an endpoint with a mailbox, for
// tests of a transport's own features.
package transporttest
