// Package view keeps the view of a job outside of its processes, and says which scheduler may
// change the view.
//
// A Store belongs to one job. Schedulers are candidates: one of them leads, the others wait.
// Servers and workers find the leader by Watch:
//
//	s, err := view.Open("file:/shared/job", 0x6a6f62)
//	lead, err := s.Campaign(ctx, "tcp://10.0.0.1:9000") // waits until this candidate leads
//	v, err := lead.Load(ctx)                            // nil: the job is new
//	err = lead.Save(ctx, v)                             // ErrFenced: another scheduler leads
//
// # Promises
//
//  1. Terms of later leads are greater. The leader sends its term with every message, and nodes
//     refuse messages of a lower term than one they have seen.
//  2. Load returns the view that was saved last by any lead. When Campaign has returned no earlier
//     lead saves anything: its Save returns ErrFenced.
//  3. A lead of a process that has died ends after a while. So may the lead of a process that
//     stands still or has no connection to the store; that process learns it by Lost or Save.
//
// # Stores
//
// A folder is the default (Folder, file:FOLDER): a file holds the view, and the lock of another
// file is the lead, which the kernel releases when the process ends. Package view/etcd adds etcd,
// where a lead is a key with a lease. A program that imports that package can open etcd://
// addresses; other programs do not contain its code.
package view
