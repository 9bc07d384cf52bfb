//go:build linux

package shm

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"gomx/kvstore/wire"

	"golang.org/x/sys/unix"
)

// line is a local socket connection between two endpoints, over which each passes the segment
// through which it sends.
type line struct {
	conn *net.UnixConn
	peer wire.Node // zero at the accepting side until a message of the base names the peer
	out  *outbound // our segment: offered, and in use after the peer has accepted it
	in   *token    // the peer's segment, nil if there is none

	given map[token]*region // our regions that the peer was offered; nil: none
	taken map[token]bool    // the peer's regions; only the goroutine of read uses it
}

// The notes on a line: the offers of a segment and of a region, which come with a file descriptor;
// the acceptance of an offer; and the end of a region.
const (
	offer    = 'O'
	share    = 'S'
	accept   = 'A'
	withdraw = 'W'

	noteSize = 1 + 16 + 8
)

// maxLines is the largest number of lines of an endpoint.
const maxLines = 1024

// listen opens an abstract local socket with the given name, or with a new name if it is "".
func listen(name string) (*net.UnixListener, string, error) {
	if name == "" {
		var b [16]byte
		rand.Read(b[:])
		name = "@gomx-" + hex.EncodeToString(b[:])
	}
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: name, Net: "unixpacket"})
		if err == nil {
			return l, name, nil
		}
		// The socket of a killed predecessor may exist for a moment.
		if !errors.Is(err, syscall.EADDRINUSE) || time.Since(start) > time.Second {
			return nil, "", fmt.Errorf("shm: listening on %s: %w", name, err)
		}
	}
}

// accept accepts connections of local peers of the same user.
func (e *endpoint) accept() {
	defer e.tasks.Done()
	for {
		conn, err := e.listener.AcceptUnix()
		if err != nil {
			return
		}
		if sameUser(conn) != nil || !e.enter(&line{conn: conn}) {
			conn.Close()
		}
	}
}

// sameUser returns an error unless the process at the other end has the same user.
func sameUser(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case int(cred.Uid) != os.Geteuid():
		return fmt.Errorf("shm: peer of user %d, want %d", cred.Uid, os.Geteuid())
	}
	return nil
}

// enter adds a line unless the endpoint is closed or has maxLines.
func (e *endpoint) enter(l *line) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.lines) >= maxLines {
		return false
	}
	e.lines[l] = true
	e.tasks.Add(1)
	go func() {
		defer e.tasks.Done()
		e.read(l)
	}()
	return true
}

// read handles the peer's notes until the line ends.
func (e *endpoint) read(l *line) {
	defer e.end(l)
	var note [noteSize + 1]byte
	oob := make([]byte, unix.CmsgSpace(4*4))
	for {
		n, oobn, _, _, err := l.conn.ReadMsgUnix(note[:], oob)
		if err != nil || n == 0 {
			return
		}
		fd, err := descriptorOf(oob[:oobn])
		if err == nil {
			err = e.hear(l, note[:n], fd)
		}
		if fd >= 0 {
			unix.Close(fd)
		}
		if err != nil {
			e.count.Garbage.Add(1)
			e.cfg.Log.Warn().Err(err).Stringer("node",
				e.cfg.Self).Msg("shared memory peer turned away")
			return
		}
	}
}

// descriptorOf returns the file descriptor of a control message, -1 if there is none. If there are
// several it closes them and returns an error.
func descriptorOf(oob []byte) (int, error) {
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return -1, err
	}
	var all []int
	for i := range list {
		fds, err := unix.ParseUnixRights(&list[i])
		if err == nil {
			all = append(all, fds...)
		}
	}
	switch len(all) {
	case 0:
		return -1, nil
	case 1:
		return all[0], nil
	}
	for _, fd := range all {
		unix.Close(fd)
	}
	return -1, fmt.Errorf("shm: %d descriptors at once, want 1", len(all))
}

// hear handles one note; fd is its file descriptor or -1.
func (e *endpoint) hear(l *line, note []byte, fd int) error {
	if len(note) != noteSize {
		return fmt.Errorf("shm: note of %d bytes, want %d", len(note), noteSize)
	}
	t := token(note[1:17])
	switch {
	case note[0] == offer && fd >= 0 && l.in == nil:
		mem, err := openSegment(fd, binary.LittleEndian.Uint64(note[17:]))
		if err != nil {
			return err
		}
		return e.adopt(l, t, &inbound{mem: mem, line: l})
	case note[0] == share && fd >= 0 && len(l.taken) < maxRegions:
		mem, err := openRegion(fd, binary.LittleEndian.Uint64(note[17:]))
		if err != nil {
			return err
		}
		return e.adopt(l, t, &inbound{mem: mem, line: l, region: true})
	case note[0] == accept && fd < 0:
		return e.accepted(l, t)
	case note[0] == withdraw && fd < 0 && l.taken[t]:
		delete(l.taken, t)
		e.orphan(t)
		return nil
	}
	return fmt.Errorf("shm: unexpected note %q, want an offer with a descriptor, or an "+
		"acceptance or a withdrawal without", note[0])
}

// adopt adds a peer's segment or region and sends the acceptance.
func (e *endpoint) adopt(l *line, t token, in *inbound) error {
	e.mu.Lock()
	taken := e.in[t] != nil
	switch {
	case taken:
	case in.region:
		if l.taken == nil {
			l.taken = map[token]bool{}
		}
		e.in[t], l.taken[t] = in, true
	default:
		e.in[t], l.in = in, &t
	}
	e.mu.Unlock()
	if taken {
		in.mem.drop()
		return errors.New("shm: the same segment twice")
	}
	return l.say(accept, t, 0, -1)
}

// accepted makes our segment or region usable after the peer has accepted it.
func (e *endpoint) accepted(l *line, t token) error {
	e.mu.Lock()
	if r := l.given[t]; r != nil {
		r.readers[l.peer] = reader{l, t}
		e.mu.Unlock()
		return nil
	}
	o := l.out
	ok := o != nil && o.token == t && !l.peer.IsZero()
	peer := l.peer
	if ok && e.out[peer] != o {
		e.out[peer] = o
		e.passAll(l)
	}
	dialed := ok && e.dials[peer] != nil && e.dials[peer].line == l
	e.mu.Unlock()
	if !ok {
		return errors.New("shm: acceptance of a segment that was not offered")
	}
	if dialed {
		// The message tells the peer whose segment it is, so that it offers one for the other
		// direction. If it is lost, the first payload does the same.
		m := wire.Message{Type: wire.TypeTell, Job: e.cfg.Job, From: e.cfg.Self,
			Incarnation: e.spoke.Load()}
		if err := e.sendDescriptor(peer, &m, &descriptor{token: t}); err != nil {
			e.cfg.Log.Debug().Err(err).Stringer("peer",
				peer).Msg("shared memory is not announced yet")
		}
	}
	return nil
}

// offerBack offers a segment on the line whose peer has become known. The caller holds mu.
func (e *endpoint) offerBack(in *inbound) {
	l := in.line
	if l.peer.IsZero() {
		l.peer = in.owner
	}
	if l.out != nil || l.peer != in.owner || e.closed || !e.lines[l] {
		return
	}
	if err := e.offer(l); err != nil {
		e.cfg.Log.Warn().Err(err).Stringer("peer", l.peer).Msg("no shared memory")
		l.conn.Close()
	}
}

// offer makes a segment and passes it to the peer.
func (e *endpoint) offer(l *line) error {
	o, fd, err := newSegment((e.opt.Memory + placeSize - 1) / placeSize)
	if err != nil {
		return err
	}
	l.out = o
	err = l.say(offer, o.token, uint64(len(o.mem.bytes)), fd)
	unix.Close(fd)
	return err
}

// say sends a note, with a file descriptor unless fd is -1.
func (l *line) say(what byte, t token, size uint64, fd int) error {
	var note [noteSize]byte
	note[0] = what
	copy(note[1:], t[:])
	binary.LittleEndian.PutUint64(note[17:], size)
	var oob []byte
	if fd >= 0 {
		oob = unix.UnixRights(fd)
	}
	_, _, err := l.conn.WriteMsgUnix(note[:], oob, nil)
	return err
}

// end closes a line and drops the segments that were passed over it.
func (e *endpoint) end(l *line) {
	l.conn.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.lines, l)
	if l.out != nil {
		if e.out[l.peer] == l.out {
			delete(e.out, l.peer)
		}
		l.out.mem.drop()
	}
	for _, r := range l.given {
		if r.readers[l.peer].line == l {
			delete(r.readers, l.peer)
		}
	}
	if l.in != nil {
		e.orphan(*l.in)
	}
	for t := range l.taken {
		e.orphan(t)
	}
}

// done marks the places of a payload as free.
func (in *inbound) done(d *descriptor) { atomic.StoreUint32(in.mem.mark(d.first), d.round) }
