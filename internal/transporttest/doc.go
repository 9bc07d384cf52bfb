// Package transporttest is the conformance suite of transports: what kvstore/transport promises, as
// tests that every transport passes.
//
//	func TestConformance(t *testing.T) {
//		transporttest.Run(t, transporttest.Suite{Open: func(t testing.TB, cfg transport.Config) transport.Endpoint { ... }})
//	}
//
// Suite.Open opens endpoints that can reach each other. Node is an endpoint with a mailbox in
// front, for tests of one transport's own features.
package transporttest
