package trainer

import (
	"context"

	"gomx/kvstore"
)

// votes makes a Survivor of a store on servers, whose workers agree on changes of the group before
// each round: a change ends nothing that is under way, and takes no round back.
type votes struct {
	kvstore.Elastic
	next    int           // round after the last one for which this worker has voted
	group   kvstore.Group // after the last change
	changed bool          // the loop has not followed the last change yet
}

// cast reports whether this worker has voted in the round that begins after a number of rounds.
func (v *votes) cast(round int) bool { return v.next == round+1 }

// ask votes in the round that begins after a number of rounds. It returns ErrRegrouped when the
// group has changed before this round.
func (v *votes) ask(ctx context.Context, round int, note []byte) error {
	g, changed, err := v.Regroup(ctx, note)
	if err != nil {
		return err
	}
	v.next = round + 1
	if changed {
		v.group, v.changed = g, true
		return kvstore.ErrRegrouped
	}
	return nil
}

// Recover implements Survivor: the loop goes on before the round in which the group has changed.
func (v *votes) Recover(_ context.Context, note func(rounds uint64) ([]byte, error)) (kvstore.Group,
	error) {
	v.changed = false
	_, err := note(uint64(v.next - 1)) // the scheduler has the note
	return v.group, err
}

// Arrive implements Survivor.
func (v *votes) Arrive(context.Context) (kvstore.Group, error) { return v.Group(), nil }

// Where implements Survivor.
func (v *votes) Where(context.Context) (kvstore.Group, error) { return v.Group(), nil }

// Standing implements Survivor. The rounds are those before the present one.
func (v *votes) Standing() (rounds uint64, changed bool) {
	return uint64(max(0, v.next-1)), v.changed
}

// Settle implements Survivor: nothing is taken back.
func (v *votes) Settle(context.Context) error { return nil }
