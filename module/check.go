package module

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	dataio "gomx/io"
	"gomx/kvstore"
)

// usable reports a module that nothing can be done with. Call is the method that somebody has
// called.
func (m *Module) usable(call string) error {
	switch {
	case m == nil:
		return fmt.Errorf("module: %s of a module that is nil", call)
	case m.symbol == nil:
		return fmt.Errorf("module: %s: New was given a symbol that is nil", call)
	}
	return nil
}

// checkCall reports a module, a context or an iterator that is nil. The last argument describes the
// iterator in the error.
func (m *Module) checkCall(ctx context.Context, call string, it dataio.Iter, what string) error {
	if err := m.usable(call); err != nil {
		return err
	}
	switch {
	case ctx == nil:
		return fmt.Errorf("module: %s: the context is nil, want context.Background() or another",
			call)
	case isNil(it):
		return fmt.Errorf("module: %s: the iterator of the %s is nil", call, what)
	}
	return nil
}

// isNil reports an interface that holds nothing, or a pointer that is nil.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

// check reports options that Fit cannot heed.
func (c *fitConfig) check() error {
	switch {
	case c.misuse != "":
		return errors.New("module: Fit: " + c.misuse)
	case c.clipNorm != 0 && kvstore.IsDist(c.store):
		return errClipJob
	case c.epochs < 0:
		return fmt.Errorf("module: Fit: Epochs(%d), want 0 or more", c.epochs)
	case c.begin < 0:
		return fmt.Errorf("module: Fit: BeginEpoch(%d), want 0 or more", c.begin)
	case c.checkpoint.keep < 0 || c.resume.keep < 0:
		return fmt.Errorf("module: Fit: KeepLast(%d), want 0 or more", min(c.checkpoint.keep,
			c.resume.keep))
	}
	return nil
}

// want notes an option whose argument is nil.
func (c *fitConfig) want(ok bool, text string) {
	if !ok && c.misuse == "" {
		c.misuse = text
	}
}
