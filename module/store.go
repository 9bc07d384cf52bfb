package module

import (
	"context"
	"errors"

	"gomx/kvstore"
	"gomx/trainer"
)

// UseStore lets a store update the parameters: Update pushes gradients and pulls parameters. It is
// called after InitParams and InitOptimizer, by every worker of the store. The parameters take
// the values of worker 0, and the gradients are divided by the number of workers if the store adds
// them up. Parameters without gradients stay out of the store. If the store joins several
// processes they share the auxiliary states too: a moving average covers the batches of all
// workers.
//
// Of parameters whose gradients are row_sparse a store with servers keeps rows, and a store of one
// process of parameters whose values are row_sparse. Gradients are pushed as rows, and Forward pulls
// the rows that its batch reads.
func (m *Module) UseStore(ctx context.Context, kv kvstore.Store) error {
	if err := m.usable("UseStore"); err != nil {
		return err
	}
	switch {
	case isNil(kv):
		return errors.New("module: UseStore: the store is nil")
	case !m.net.inited:
		return errors.New("module: UseStore: the parameters have no values: call InitParams first")
	case m.trainer.Updater() == nil:
		return errors.New("module: UseStore: no optimizer: call InitOptimizer first")
	}
	if err := m.net.whole("UseStore"); err != nil {
		return err
	}
	if err := (pulls{m}).leaveOwnStore(); err != nil {
		return err
	}
	err := m.trainer.UseStore(ctx, kv, trainer.StoreUse{Grads: gradientsOf(m),
		Batch: batchSizeOf(m), Aux: m.net.auxStates, Settle: m.net.settleAux, Rows: pulls{m}.use})
	if err == nil {
		m.net.tables.made, m.net.tables.first = nil, nil // by the store
	}
	return prefixed(err)
}
