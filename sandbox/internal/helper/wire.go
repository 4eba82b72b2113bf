package helper

import (
	"errors"
	"unsafe"
)

// codec writes or reads the fields of a message, in the one order that the
// fields methods give: numbers as eight bytes, the lowest first, truths as one
// byte, texts and lists with their length in front. There is one encoding of a
// value, so that what was read is what was written. Package encoding/json is
// not imported.
type codec struct {
	reading bool
	out     []byte // what was written
	in      string // what is left to be read
	err     error  // the first one; what is read after it is empty
}

// wireMessage is what travels between the runtime and a helper.
type wireMessage interface{ codeFields(c *codec) }

var (
	errCut   = errors.New("the message is too short")
	errLeft  = errors.New("the message is too long")
	errValue = errors.New("the message holds an impossible value")
)

// encodeMessage writes a message.
func encodeMessage(v wireMessage) []byte {
	var c codec
	v.codeFields(&c)
	return c.out
}

// decodeMessage reads all of a message.
func decodeMessage(b []byte, v wireMessage) error {
	// Not copied: nobody changes what was received.
	c := codec{reading: true, in: unsafe.String(unsafe.SliceData(b), len(b))}
	v.codeFields(&c)
	if c.err == nil && c.in != "" {
		c.err = errLeft
	}
	return c.err
}

// readBytes reads n bytes.
func (c *codec) readBytes(n uint64) string {
	if c.err == nil && n > uint64(len(c.in)) {
		c.err = errCut
	}
	if c.err != nil {
		return ""
	}
	s := c.in[:n]
	c.in = c.in[n:]
	return s
}

func (c *codec) uint64(v *uint64) {
	if !c.reading {
		for i := range 8 {
			c.out = append(c.out, byte(*v>>(8*i)))
		}
		return
	}
	*v = 0
	for i, b := range []byte(c.readBytes(8)) {
		*v |= uint64(b) << (8 * i)
	}
}

func (c *codec) int64(v *int64) {
	u := uint64(*v)
	c.uint64(&u)
	*v = int64(u)
}

func (c *codec) int(v *int) {
	n := int64(*v)
	c.int64(&n)
	if *v = int(n); int64(*v) != n {
		c.markInvalid()
	}
}

func (c *codec) uintptr(v *uintptr) {
	n := uint64(*v)
	c.uint64(&n)
	if *v = uintptr(n); uint64(*v) != n {
		c.markInvalid()
	}
}

func (c *codec) uint32(v *uint32) {
	n := uint64(*v)
	c.uint64(&n)
	if *v = uint32(n); uint64(*v) != n {
		c.markInvalid()
	}
}

func (c *codec) bool(v *bool) {
	if !c.reading {
		var b byte
		if *v {
			b = 1
		}
		c.out = append(c.out, b)
		return
	}
	s := c.readBytes(1)
	if s > "\x01" {
		c.markInvalid()
	}
	*v = s == "\x01"
}

func (c *codec) text(v *string) {
	n := uint64(len(*v))
	c.uint64(&n)
	if c.reading {
		*v = c.readBytes(n)
	} else {
		c.out = append(c.out, *v...)
	}
}

func (c *codec) bytes(v *[]byte) {
	n := uint64(len(*v))
	c.uint64(&n)
	if !c.reading {
		c.out = append(c.out, *v...)
		return
	}
	*v = nil
	if s := c.readBytes(n); s != "" {
		*v = []byte(s)
	}
}

// markInvalid notes a value that nobody writes.
func (c *codec) markInvalid() {
	if c.err == nil {
		c.err = errValue
	}
}

// codeList writes or reads a list. An element has at least eight bytes, which
// bounds what a length can have allocated.
func codeList[T any](c *codec, v *[]T, field func(*codec, *T)) {
	n := uint64(len(*v))
	c.uint64(&n)
	if c.reading {
		if *v = nil; n == 0 {
			return
		}
		if n > uint64(len(c.in))/8 && c.err == nil {
			c.err = errCut
		}
		if c.err != nil {
			return
		}
		*v = make([]T, n)
	}
	for i := range *v {
		field(c, &(*v)[i])
	}
}

func (b *Base) codeFields(c *codec) {
	c.bool(&b.Namespaces)
	c.bool(&b.Listen)
	c.bool(&b.HostTree)
	c.bool(&b.Counters)
	codeList(c, &b.Tree, (*codec).codeOp)
}

func (s *Spec) codeFields(c *codec) {
	c.text(&s.Path)
	codeList(c, &s.Argv, (*codec).text)
	codeList(c, &s.Env, (*codec).text)
	c.text(&s.Dir)
	has := s.Layer != nil
	if c.bool(&has); has {
		if s.Layer == nil {
			s.Layer = &Layer{}
		}
		c.int64(&s.Layer.Bytes)
		c.int64(&s.Layer.Files)
	}
	codeList(c, &s.Tree, (*codec).codeOp)
	has = s.Landlock != nil
	if c.bool(&has); has {
		if s.Landlock == nil {
			s.Landlock = &Landlock{}
		}
		s.Landlock.codeFields(c)
	}
	c.bytes(&s.Filter)
	c.bool(&s.Notify)
	c.bool(&s.DropCaps)
	codeList(c, &s.Rlimits, func(c *codec, l *Rlimit) {
		c.int(&l.Resource)
		c.uint64(&l.Value)
	})
	codeList(c, &s.Counters, func(c *codec, n *Counter) {
		c.text(&n.Name)
		c.int64(&n.Value)
	})
	c.int(&s.Nice)
}

func (l *Landlock) codeFields(c *codec) {
	c.uint64(&l.FS)
	c.uint64(&l.Net)
	c.uint64(&l.Scoped)
	codeList(c, &l.Rules, func(c *codec, r *PathRule) {
		c.text(&r.Path)
		c.uint64(&r.Access)
		c.uint64(&r.Dev)
		c.uint64(&r.Ino)
		c.bool(&r.Optional)
	})
}

func (c *codec) codeOp(o *Op) {
	for _, s := range []*string{&o.Do, &o.Path, &o.Source, &o.Memory} {
		c.text(s)
	}
	c.int(&o.Tree)
	c.uint64(&o.Dev)
	c.uint64(&o.Ino)
	c.bytes(&o.Data)
	c.uint32(&o.Mode)
	c.int64(&o.Size)
	for _, b := range []*bool{&o.Write, &o.Exec, &o.Device, &o.Optional, &o.Alias} {
		c.bool(b)
	}
}
