package helper

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// full has a value in every field.
func full() (*Base, *Spec, *Launch) {
	op := Op{
		"bind", "/a", "/b", 3, 1, 2, "/mem", []byte("data"), 0o1777, 1 << 40, true, true, true, true, true,
	}
	spec := &Spec{
		Path: "/bin/sh", Argv: []string{"sh", "", "-c"}, Env: []string{"A=b"}, Dir: "/w", Tree: []Op{op, {Do: DoDir}}, Layer: &Layer{1, 2},
		Landlock: &Landlock{1, 2, 3, []PathRule{{"/x", 4, 5, 6, true}, {"/y", 1 << 63, 0, 0, false}}},
		Filter:   []byte{1, 2, 3}, Notify: true, DropCaps: true, Rlimits: []Rlimit{{7, 1<<64 - 1}, {-1, 0}},
		Counters: []Counter{{"max_inotify_watches", 7}}, Nice: 9,
		Direct: &Direct{[]Range{{[]byte{198, 18, 0, 0}, 15}}, []int{80, 443}, 3},
	}
	ids := []syscall.SysProcIDMap{{ContainerID: 1, HostID: 2, Size: 3}}
	launch := &Launch{"/proc/self/exe", Arg0, []string{"A=b", ""}, 1 << 31, ids, ids, 2000000000, []uintptr{1, 21}, true}
	return &Base{true, true, true, true, []Op{op, op}}, spec, launch
}

func TestWire(t *testing.T) {
	base, spec, launch := full()
	for name, c := range map[string]struct{ in, out Message }{
		"base": {base, &Base{}}, "spec": {spec, &Spec{}}, "launch": {launch, &Launch{}},
		"empty base": {&Base{}, &Base{}}, "empty spec": {&Spec{}, &Spec{}}, "empty launch": {&Launch{}, &Launch{}},
		"no rules": {&Spec{Landlock: &Landlock{}}, &Spec{}},
	} {
		b := encodeMessage(c.in)
		if err := decodeMessage(b, c.out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.in, c.out); diff != "" {
			t.Errorf("%s (-written +read):\n%s", name, diff)
		}
	}
}

// Whatever is cut off or added is noticed, wherever.
func TestWireIsStrict(t *testing.T) {
	base, spec, launch := full()
	for name, c := range map[string]struct {
		in    Message
		fresh func() Message
	}{
		"base": {base, func() Message { return &Base{} }}, "spec": {spec, func() Message { return &Spec{} }},
		"launch": {launch, func() Message { return &Launch{} }},
	} {
		b := encodeMessage(c.in)
		for n := range b {
			if err := decodeMessage(b[:n], c.fresh()); !errors.Is(err, errCut) {
				t.Errorf("%s of %d bytes cut to %d: %v", name, len(b), n, err)
			}
		}
		if err := decodeMessage(append(b, 0), c.fresh()); !errors.Is(err, errLeft) {
			t.Errorf("%s with a byte too many: %v", name, err)
		}
	}
	b := encodeMessage(&Base{})
	b[0] = 2
	if err := decodeMessage(b, &Base{}); !errors.Is(err, errValue) {
		t.Errorf("a truth of 2: %v", err)
	}
	var c codec
	wide, list := uint64(1<<32), uint64(1<<60)
	c.codeUint64(&wide)
	var mode uint32
	read := codec{reading: true, in: string(c.out)}
	if codeNumber(&read, &mode); !errors.Is(read.err, errValue) {
		t.Errorf("a mode of 33 bits: %v", read.err)
	}
	c = codec{out: []byte{0, 0, 0}}
	c.codeUint64(&list)
	if err := decodeMessage(append(c.out, make([]byte, 64)...), &Base{}); !errors.Is(err, errCut) {
		t.Errorf("a list longer than the message: %v", err)
	}
}

// What is accepted is what would have been written, and changed bytes never
// panic or allocate without bound.
func FuzzWire(f *testing.F) {
	base, spec, launch := full()
	f.Add(encodeMessage(base), uint8(0))
	f.Add(encodeMessage(spec), uint8(1))
	f.Add(encodeMessage(launch), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, kind uint8) { canonical(t, b, kind) })
}

func TestWireByChance(t *testing.T) {
	base, spec, launch := full()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		kind := uint8(r.IntN(3))
		b := encodeMessage([]Message{base, spec, launch}[kind])
		for range 1 + r.IntN(3) {
			switch i := r.IntN(len(b)); r.IntN(3) {
			case 0:
				b[i] = byte(r.Uint32())
			case 1:
				b = append(b[:i], b[min(len(b), i+1+r.IntN(9)):]...)
			default:
				b = append(b[:i:i], append(make([]byte, r.IntN(9)), b[i:]...)...)
			}
			if len(b) == 0 {
				break
			}
		}
		canonical(t, b, kind)
	}
}

func canonical(t *testing.T, b []byte, kind uint8) {
	t.Helper()
	v := []Message{&Base{}, &Spec{}, &Launch{}}[kind%3]
	if decodeMessage(b, v) == nil && !bytes.Equal(encodeMessage(v), b) {
		t.Errorf("%x is accepted and would be written as %x", b, encodeMessage(v))
	}
}

func TestPack(t *testing.T) {
	_, spec, launch := full()
	header, body := Pack(MsgRun, spec)
	var got Spec
	if err := Unpack(MsgRun, header[:], body, &got); err != nil || !cmp.Equal(&got, spec) {
		t.Errorf("Unpack: %v, %s", err, cmp.Diff(spec, &got))
	}
	for i := range body {
		bent := bytes.Clone(body)
		bent[i] ^= 0x80
		if Unpack(MsgRun, header[:], bent, &Spec{}) == nil {
			t.Errorf("byte %d was changed unnoticed", i)
		}
	}
	for name, err := range map[string]error{
		"kind":   Unpack(MsgBase, header[:], body, &got),
		"header": Unpack(MsgRun, header[1:], body, &got),
		"body":   Unpack(MsgRun, header[:], body[1:], &got),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	request := PackRequest(MsgLaunch, launch)
	again := &Launch{}
	if err := decodeMessage(request[1:], again); err != nil || request[0] != MsgLaunch || !cmp.Equal(launch, again) {
		t.Errorf("launch: %v, %s", err, cmp.Diff(launch, again))
	}
	var w guardedProcesses
	for name, msg := range map[string][]byte{"no kind": request[1:], "cut": request[:len(request)-1]} {
		if _, err := w.handleRequest(msg, []int{-1}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
