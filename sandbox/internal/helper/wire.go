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

// Message is what travels between the runtime and a helper or the launcher.
type Message interface{ codeFields(c *codec) }

var (
	errCut   = errors.New("the message is too short")
	errLeft  = errors.New("the message is too long")
	errValue = errors.New("the message holds an impossible value")
)

// encodeMessage writes a message.
func encodeMessage(v Message) []byte {
	var c codec
	v.codeFields(&c)
	return c.out
}

// decodeMessage reads all of a message.
func decodeMessage(b []byte, v Message) error {
	// Not copied: what was received is never changed.
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

func (c *codec) codeUint64(v *uint64) {
	if !c.reading {
		c.out = appendUint64(c.out, *v)
		return
	}
	*v = 0
	for i, b := range []byte(c.readBytes(8)) {
		*v |= uint64(b) << (8 * i)
	}
}

// codeNumber writes or reads a number, which has to fit its type.
func codeNumber[T int | int64 | uint32 | uint64 | uintptr](c *codec, v *T) {
	n := uint64(*v)
	c.codeUint64(&n)
	if *v = T(n); uint64(*v) != n {
		c.markInvalid()
	}
}

func (c *codec) codeBool(v *bool) {
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

func (c *codec) codeText(v *string) {
	n := uint64(len(*v))
	c.codeUint64(&n)
	if c.reading {
		*v = c.readBytes(n)
	} else {
		c.out = append(c.out, *v...)
	}
}

func (c *codec) codeBytes(v *[]byte) {
	s := string(*v)
	if c.codeText(&s); !c.reading {
		return
	}
	if *v = nil; s != "" {
		*v = []byte(s)
	}
}

// markInvalid records that the runtime never writes such a value.
func (c *codec) markInvalid() {
	if c.err == nil {
		c.err = errValue
	}
}

// codeList writes or reads a list. An element has at least eight bytes, which
// bounds what a length can have allocated.
func codeList[T any](c *codec, v *[]T, field func(*codec, *T)) {
	n := uint64(len(*v))
	c.codeUint64(&n)
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
	c.codeBool(&b.Namespaces)
	c.codeBool(&b.Listen)
	c.codeBool(&b.HostTree)
	c.codeBool(&b.Counters)
	codeList(c, &b.Tree, (*codec).codeOp)
}

func (s *Spec) codeFields(c *codec) {
	c.codeText(&s.Path)
	codeList(c, &s.Argv, (*codec).codeText)
	codeList(c, &s.Env, (*codec).codeText)
	c.codeText(&s.Dir)
	has := s.Layer != nil
	if c.codeBool(&has); has {
		if s.Layer == nil {
			s.Layer = &Layer{}
		}
		codeNumber(c, &s.Layer.Bytes)
		codeNumber(c, &s.Layer.Files)
	}
	codeList(c, &s.Tree, (*codec).codeOp)
	has = s.Landlock != nil
	if c.codeBool(&has); has {
		if s.Landlock == nil {
			s.Landlock = &Landlock{}
		}
		s.Landlock.codeFields(c)
	}
	c.codeBytes(&s.Filter)
	c.codeBool(&s.Notify)
	c.codeBool(&s.DropCaps)
	codeList(c, &s.Rlimits, func(c *codec, l *Rlimit) {
		codeNumber(c, &l.Resource)
		codeNumber(c, &l.Value)
	})
	codeList(c, &s.Counters, func(c *codec, n *Counter) {
		c.codeText(&n.Name)
		codeNumber(c, &n.Value)
	})
	codeNumber(c, &s.Nice)
	has = s.Direct != nil
	if c.codeBool(&has); has {
		if s.Direct == nil {
			s.Direct = &Direct{}
		}
		s.Direct.codeFields(c)
	}
}

func (d *Direct) codeFields(c *codec) {
	codeList(c, &d.Ranges, func(c *codec, r *Range) {
		c.codeBytes(&r.Addr)
		codeNumber(c, &r.Bits)
	})
	codeList(c, &d.Ports, codeNumber[int])
	codeNumber(c, &d.Spare)
}

func (l *Landlock) codeFields(c *codec) {
	codeNumber(c, &l.FS)
	codeNumber(c, &l.Net)
	codeNumber(c, &l.Scoped)
	codeList(c, &l.Rules, func(c *codec, r *PathRule) {
		c.codeText(&r.Path)
		codeNumber(c, &r.Access)
		codeNumber(c, &r.Dev)
		codeNumber(c, &r.Ino)
		c.codeBool(&r.Optional)
	})
}

func (c *codec) codeOp(o *Op) {
	for _, s := range []*string{&o.Do, &o.Path, &o.Source, &o.Memory} {
		c.codeText(s)
	}
	codeNumber(c, &o.Tree)
	codeNumber(c, &o.Dev)
	codeNumber(c, &o.Ino)
	c.codeBytes(&o.Data)
	codeNumber(c, &o.Mode)
	codeNumber(c, &o.Size)
	for _, b := range []*bool{&o.Write, &o.Exec, &o.Device, &o.Optional, &o.Alias} {
		c.codeBool(b)
	}
}
