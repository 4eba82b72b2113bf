package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/facts"
)

// Hash is the value that ties a record to the one before it.
type Hash [sha256.Size]byte

// String returns the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash in hex.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText reads 64 hex digits.
func (h *Hash) UnmarshalText(text []byte) error {
	var fresh Hash
	if len(text) != hex.EncodedLen(len(fresh)) {
		return fmt.Errorf("audit: a hash has %d hex digits, this one has %d", hex.EncodedLen(len(fresh)), len(text))
	}
	if _, err := hex.Decode(fresh[:], text); err != nil {
		return errors.New("audit: a hash has hex digits only")
	}
	*h = fresh
	return nil
}

// Head is the newest record of a chain. The zero Head is that of an empty
// one.
type Head struct {
	// Seq is the number of the record; 0 when there is none.
	Seq int64
	// Hash is the hash of the record.
	Hash Hash
}

// String returns "seq:hash", which [ParseHead] reads.
func (h Head) String() string { return strconv.FormatInt(h.Seq, 10) + ":" + h.Hash.String() }

// ParseHead reads what [Head.String] writes and nothing else.
func ParseHead(s string) (Head, error) {
	var h Head
	seq, sum, ok := strings.Cut(s, ":")
	if !ok {
		return Head{}, errors.New("audit: a head is written seq:hash")
	}
	n, err := strconv.ParseInt(seq, 10, 64)
	if err != nil || n < 0 {
		return Head{}, errors.New("audit: the seq of a head is a number")
	}
	if err := h.Hash.UnmarshalText([]byte(sum)); err != nil {
		return Head{}, err
	}
	h.Seq = n
	if h.String() != strings.ToLower(s) {
		return Head{}, errors.New("audit: a head is written seq:hash, the number without sign or leading zeros")
	}
	return h, nil
}

// Record is a sealed event as a store keeps it. The fields beside Body and
// Hash repeat what the body says, for searching.
type Record struct {
	// Seq is the number in the chain, from 1.
	Seq int64
	// Time is when the event happened, in Unix nanoseconds.
	Time int64
	// Kind is intent, outcome or checkpoint.
	Kind Kind
	// Call, Tool and Principal are the event's; empty on a checkpoint.
	Call, Tool, Principal string
	// Denied is [Event.Denied].
	Denied bool
	// Body is the JSON of the event, or of the checkpoint.
	Body []byte
	// Hash ties the record to the one before it. A checkpoint has the hash
	// of the last record that it stands for.
	Hash Hash
	// Brought is [Event.Brought] until the record is stored; FindBrought returns
	// it from then on, too.
	Brought *facts.Brought
	// Used is [Event.Used] likewise, for FindUsed.
	Used *approvals.Used
}

// Head returns the number and hash of the record.
func (r *Record) Head() Head { return Head{Seq: r.Seq, Hash: r.Hash} }

// Event decodes the body. It proves nothing: [Verify] does.
func (r *Record) Event() (Event, error) {
	var e Event
	if r.Kind == KindCheckpoint {
		return e, fmt.Errorf("audit: record %d is a checkpoint", r.Seq)
	}
	// json.Unmarshal would look over the body twice.
	if err := e.UnmarshalJSON(r.Body); err != nil {
		return e, fmt.Errorf("audit: record %d is not readable: %w", r.Seq, err)
	}
	e.Seq = r.Seq
	return e, nil
}

// setFields sets the searchable fields from an event.
func (r *Record) setFields(e *Event) {
	r.Time, r.Kind, r.Denied = e.Time.UnixNano(), e.Kind, e.Denied()
	r.Call, r.Tool, r.Principal, r.Brought, r.Used = e.CallID, string(e.Tool), e.Principal, e.Brought, e.Used
}

// sealDomain separates the hashes of records from everything else that the
// key signs.
const sealDomain = "sallyport/audit/record/1\n"

// recordSealer computes hashes with one key. It is not safe for concurrent use.
type recordSealer struct {
	mac hash.Hash
	buf []byte
	sum []byte
}

func newSealer(k Key) *recordSealer { return &recordSealer{mac: hmac.New(sha256.New, k.secretBytes())} }

// sealRecord returns the hash of a record that follows prev.
func (s *recordSealer) sealRecord(prev Hash, r *Record) (h Hash) {
	b := append(s.buf[:0], sealDomain...)
	b = append(b, prev[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Seq))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Time))
	if r.Denied {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	for _, text := range [...]string{string(r.Kind), r.Call, r.Tool, r.Principal} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
		b = append(b, text...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(r.Body)))
	b = append(b, r.Body...)
	s.buf = b
	return s.computeMAC(b)
}

func (s *recordSealer) computeMAC(b []byte) (h Hash) {
	s.mac.Reset()
	s.mac.Write(b)
	s.sum = s.mac.Sum(s.sum[:0])
	copy(h[:], s.sum)
	return h
}

func unixTime(ns int64) time.Time { return time.Unix(0, ns).UTC() }
